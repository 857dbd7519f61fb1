/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A running measurement: one line of JSON (schema lowlat.follow/1) per second on standard output.
 *
 * All figures are for the time since the previous line: "gaps", "noise_ns", "noise_ppm", "max_ns",
 * "switches" (of the detector's thread), "interrupts" and "softirqs" (counts by source).
 */
#pragma once

#include "counters.h"
#include "detector.h"

/* The figures of a CPU at the previous line. */
struct follow_cpu {
	uint64_t gaps, noise, switches;
};

/* Zero-initialised: prints nothing. */
struct follow {
	struct detectors *detectors;
	const struct cpulist *cpus;
	struct follow_cpu *before;
	struct counter_snapshot counters;
	uint64_t start_ns;
	/* The time of the next line, CLOCK_MONOTONIC_RAW. */
	uint64_t next_ns;
};

/* Begins. Returns 0, or -errno of the counters; call the deinit in any case. */
int follow_init(struct detectors *detectors, const struct cpulist *cpus, struct follow *ret);
void follow_deinit(struct follow *follow);

/*
 * Writes a line if one is due, but none into a full pipe: the next line then covers a longer time.
 *
 * Returns 0, or -errno of the counters or of standard output (-EPIPE: its reader went away).
 */
int follow_tick(struct follow *follow);
