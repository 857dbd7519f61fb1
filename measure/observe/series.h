/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The run in steps of a second: what each CPU had shown by the end of each.
 *
 * Once they are SERIES_STEPS, pairs of them become one and the next ones twice as long, so that a
 * run of any length has fewer than that. One thread writes, from a CPU that is not measured; the
 * loops know nothing of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "counters.h"
#include "detector.h"

#define SERIES_STEPS 600

/* Since the beginning; noise and the time without gaps, in which the loop read so often, in ticks. */
struct series_point {
	uint64_t noise, gaps, interrupts, clean_reads, clean_ticks;
};

/* Zero-initialised is empty. */
struct series {
	const struct detectors *detectors;
	const struct cpulist *cpus;
	/* The interrupts are counted too. */
	bool counted;
	/* The last -errno of reading them; 0: never failed. */
	int error;
	uint64_t start_ns, step_ns;
	/* When the next step ends, CLOCK_MONOTONIC_RAW. */
	uint64_t next_ns;
	size_t count;
	/* When each step ended, since start_ns. */
	uint64_t *ends_ns;
	/* SERIES_STEPS of each CPU in turn. */
	struct series_point *points;
	/* Of each CPU: the interrupts since the beginning, and the counters as last read. */
	uint64_t *interrupts;
	uint32_t *counters;
};

/*
 * Makes the room, and does once what a step does: later ones touch no new memory, which could
 * interrupt the CPUs whose threads share it. counted: whether a CPU is left to read
 * /proc/interrupts on. The detectors are borrowed, and are on these CPUs in this order.
 */
void series_init(const struct detectors *detectors, const struct cpulist *cpus, bool counted,
		 struct series *ret);
void series_deinit(struct series *series);

/* The beginning, and what was counted then. */
void series_begin(struct series *series, const struct counter_snapshot *before);

/*
 * Ends a step where one is due. Where the interrupts can't be read it goes on into the next one;
 * once a CPU has none any more, none are counted.
 */
void series_tick(struct series *series);

/* The end, and what was counted then. Less than half a step that is left joins the one before. */
void series_end(struct series *series, const struct counter_snapshot *after);

/* Ends a step at so many ns since the beginning. counters: of each CPU, NULL where not known. */
void series_add(struct series *series, uint64_t at_ns, const uint32_t *counters);

struct series_point *series_point(const struct series *series, size_t cpu, size_t step);
