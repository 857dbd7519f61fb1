/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run while it lasts: a line of JSON (schema lowlat.follow/1) a second on standard output.
 *
 * All figures are of the time since the line before: "gaps", "noise_ns", "noise_ppm", "max_ns",
 * "switches" (of the detector's thread), "interrupts" and "softirqs" (counts by source).
 */
#pragma once

#include "counters.h"
#include "detector.h"

/* What a CPU had shown at the line before. */
struct follow_cpu {
	uint64_t gaps, noise, switches;
};

/* Zero-initialised follows nothing. */
struct follow {
	struct detectors *detectors;
	const struct cpulist *cpus;
	struct follow_cpu *before;
	struct counter_snapshot counters;
	uint64_t start_ns;
	/* When the next line is due, CLOCK_MONOTONIC_RAW. */
	uint64_t next_ns;
};

/* Begins. Returns 0, or -errno of the counters; it follows nothing then. */
int follow_init(struct detectors *detectors, const struct cpulist *cpus, struct follow *ret);
void follow_deinit(struct follow *follow);

/*
 * Writes a line where one is due; none to a reader that let its pipe run full, whose next line is
 * then of a longer time.
 *
 * Returns 0, or -errno of the counters or of standard output (-EPIPE: its reader went away).
 */
int follow_tick(struct follow *follow);
