/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run in steps of a second: the figures of each CPU at the end of each step.
 *
 * When there are SERIES_STEPS, pairs of steps are merged and the next ones are twice as long, so
 * that a run of any length has fewer. One thread writes, on a CPU that is not measured; the
 * detectors' loops take no part.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters.h"
#include "detector.h"

#define SERIES_STEPS 600

/*
 * Totals since the beginning: noise and time without gaps in ticks, and the reads in that time; and
 * the frequency at the end of the step.
 */
struct series_point {
	uint64_t noise, gaps, interrupts, clean_reads, clean_ticks;
	int64_t khz;
};

/* Zero-initialised is empty. */
struct series {
	const struct detectors *detectors;
	const struct cpulist *cpus;
	/* Whether interrupts are counted too. */
	bool counted;
	/* Whether the frequency is read too. */
	bool clocked;
	/* The last -errno of reading them; 0 if none. */
	int error;
	uint64_t start_ns, step_ns;
	/* The end of the next step, CLOCK_MONOTONIC_RAW. */
	uint64_t next_ns;
	size_t count;
	/* The end of each step, in ns since start_ns. */
	uint64_t *ends_ns;
	/* SERIES_STEPS points for each CPU in turn. */
	struct series_point *points;
	/* For each CPU: the interrupts since the beginning, and the counters as last read. */
	uint64_t *interrupts;
	uint32_t *counters;
};

/*
 * Allocates the memory and makes one step: later steps touch no new memory, which could interrupt
 * the CPUs whose threads share it. counted: whether a CPU is left to read /proc/interrupts and, where
 * this kernel holds it, the frequency on. The detectors are borrowed; they run on these CPUs in this
 * order.
 */
void series_init(const struct detectors *detectors, const struct cpulist *cpus, bool counted,
		 const char *kernel, struct series *ret);
void series_deinit(struct series *series);

/* The beginning, with the counters at that time. */
void series_begin(struct series *series, const struct counter_snapshot *before);

/*
 * Ends a step if one is due. If the interrupts can't be read the step goes on; once a CPU has no
 * column, interrupts are no longer counted.
 */
void series_tick(struct series *series);

/* The end, with the counters at that time. A rest below half a step joins the previous step. */
void series_end(struct series *series, const struct counter_snapshot *after);

/* Ends a step at this time in ns since the beginning. counters: one per CPU; NULL if unknown. */
void series_add(struct series *series, uint64_t at_ns, const uint32_t *counters);

struct series_point *series_point(const struct series *series, size_t cpu, size_t step);
