/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much a CPU gets done when nothing else runs: stress-ng's matrix product, pinned, several times.
 * A tuning that costs throughput shows here.
 */
#pragma once

#include <stdint.h>

#include "load.h"

/* How long each run is. */
#define THROUGHPUT_S 2

struct throughput {
	/* The one it is pinned to. */
	struct cpulist cpu;
	struct load_tool tool;
	/* As many as were begun. */
	struct load *runs;
	size_t count;
};

/* Makes room for `count` runs on one CPU. Returns 0, -ENOENT (no stress-ng) or another -errno. */
int throughput_init(unsigned int cpu, size_t count, const struct scratch *scratch,
		    struct throughput *ret);

/* Starts the next run; the child of the one before must have ended. Returns 0 or -errno. */
int throughput_start(struct throughput *throughput, uint64_t seed, const struct scratch *scratch);

/* Bogo operations per second: over the runs that gave a figure, whose number is returned. */
size_t throughput_mean(const struct throughput *throughput, double *mean, double *variance);

void throughput_deinit(struct throughput *throughput);
