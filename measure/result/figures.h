/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures of a run that its JSON and its text both print. */
#pragma once

#include "session.h"

/* Figures of one CPU. Times in ns. */
struct figures {
	double runtime_ns;
	double noise_ns;
	double dead_ns;
	double max_ns;
	/* Share of the runtime without dead time, in ppm. */
	double noise_ppm;
	/* Time in no reading, gap or dead time, as a share of the runtime in ppm. */
	double unaccounted_ppm;
	double events_per_s;
	/* Mean time between two readings without a gap. */
	double loop_period_ns;
	/* Time between two readings in a row: the lower one of before and after. */
	double floor_ns;
	double switches_per_s;
};

struct figures figures_of(const struct run *run, const struct detector *detector);

/* Growth of one row per second, between the two snapshots. */
double figures_rate(const struct run *run, const struct counters *before,
		    const struct counters *after, size_t row, size_t column);
