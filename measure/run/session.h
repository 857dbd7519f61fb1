/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run in progress: its options, its machine, and its results so far. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture.h"
#include "clock.h"
#include "counters.h"
#include "detector.h"
#include "follow.h"
#include "host.h"
#include "load.h"
#include "second_opinion.h"
#include "options.h"
#include "power.h"
#include "scratch.h"
#include "series.h"
#include "setup.h"
#include "text.h"
#include "units.h"
#include "work.h"

/* The grace period of a program after the run was interrupted. */
#define GRACE_INTERRUPTED_NS (3 * NS_PER_S)

struct run {
	struct options options;
	struct host host;
	struct setup setup;
	struct scratch scratch;
	struct clock_source clock;
	/* The rate used by the measurement; clock.hz is the better one, of the whole run. */
	double start_hz;
	/* The threshold in use: raised if the clock is too coarse for the requested one. */
	uint64_t threshold_ns;
	struct detectors detectors;
	struct counter_snapshot before, after;
	bool counters_valid;
	/* One per measured CPU; NULL: not read. */
	struct power *power_before, *power_after;
	/* The load: its limits and its started parts. */
	struct load_limits limits;
	struct load_tool load_tool;
	struct cpulist *load_parts;
	size_t load_part_count;
	struct load *loads;
	size_t load_count;
	/* Those whose child has ended have run. */
	struct opinion opinions[OPINION_TOOLS];
	struct work_result **works;
	size_t work_count;
	/* One per measured CPU, in order, after they were made. */
	struct work_result **wakeups;
	size_t wakeup_count;
	/*
	 * The parts of all runs of stress-ng's matrix that were started: for each run one per
	 * measured CPU, in order. And the rates of the runs, per second.
	 */
	struct load *throughput;
	size_t throughput_count;
	struct moments products;
	struct capture capture;
	struct follow follow;
	struct series series;
	struct strings problems;
	bool complete, valid;
	/* Ended early by a gap as long as --stop-on; by a signal (0: none). */
	bool stopped;
	int interrupted;
};

/* Adds a sentence to run->problems, and marks the run partial or invalid. */
#define run_note(run, ...) strings_add(&(run)->problems, __VA_ARGS__)
#define run_partial(run, ...) ((run)->complete = false, strings_add(&(run)->problems, __VA_ARGS__))
#define run_invalid(run, ...) ((run)->valid = false, strings_add(&(run)->problems, __VA_ARGS__))

/* For a program with child->truncated set. */
#define run_truncated(run, program)                                               \
	run_partial(run, "%s wrote more than %zu MiB; the rest is lost", program, \
		    CHILD_TEXT_MAX >> 20)
