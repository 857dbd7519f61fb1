/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The figures that both the JSON and the text report, in one place. */
#pragma once

#include "session.h"

/* Of one CPU. Times in ns. */
struct figures {
	double runtime_ns;
	double noise_ns;
	double dead_ns;
	double max_ns;
	/* Share of the runtime without dead time, times 1e6. */
	double noise_ppm;
	/* Time in neither reading, gap nor dead time, as a share of the runtime times 1e6. */
	double unaccounted_ppm;
	double events_per_s;
	/* Mean time between two readings without a gap. */
	double loop_period_ns;
	/* The machine's own back-to-back reading: the faster of before and after. */
	double floor_ns;
	double switches_per_s;
};

struct figures figures_of(const struct run *run, const struct detector *detector);

/* Means over the measured CPUs, in ns; 0 where none was measured. */
struct means {
	double floor_ns;
	double loop_period_ns;
};

struct means figures_means(const struct run *run);

/* Growth of one row per second; window: between the two snapshots. */
double figures_rate(const struct run *run, const struct counters *before,
		    const struct counters *after, size_t row, size_t column);
