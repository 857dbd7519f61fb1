/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One detector thread per CPU: pinned, with memory touched before; they start and end together. */
#pragma once

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clock.h"
#include "cpulist.h"
#include "isolation.h"
#include "policy.h"
#include "spin.h"
#include "throttle.h"

#define DETECTOR_ALIGN 128
/* Work is counted in windows of this length, in ns. */
#define DETECTOR_WINDOW_NS 1000000

/* The lengths for which rates are reported, in ns. */
extern const uint64_t detector_levels_ns[SPIN_LEVELS];

/* Input and results of one CPU's thread; read the results after detectors_join(). */
struct detector {
	struct detectors *all;
	unsigned int cpu;
	pthread_t thread;
	/* The kernel's thread ID; known once the thread is ready. */
	pid_t tid;
	/* Separate cache lines: a gap of one CPU must not delay another one. */
	alignas(DETECTOR_ALIGN) struct spin spin;
	struct spin_live live;
	struct detector_memory *memory;
	/* In ticks: medians before and after the loop. */
	double floor[2];
	/* Of this thread during the loop. */
	long page_faults, switches;
	bool measured;
	/* The kernel moved it off its CPU, which went offline. */
	bool moved;
	/* The result of entering task isolation, if the kernel offers it: 0 or -errno. */
	int isolation;
	/* Set by the reader of the result. */
	struct throttle throttle;
	/* 0, or the -errno that prevented the thread's start. */
	int error;
};

struct detectors {
	const struct clock_source *clock;
	struct policy policy;
	/* The kernel offers task isolation: the loops use it. */
	enum isolation isolation;
	/* Capacity of one CPU's log, in gaps; 0: no log. */
	size_t log_size;
	struct detector *items;
	size_t count, started;
	/* The numbers of threads that are warm, and that have left the loop. */
	atomic_size_t ready, finished;
	atomic_bool warm, leave;
	/* Read by all loops: no data that is written during the run may share its cache line. */
	alignas(DETECTOR_ALIGN) atomic_bool stop;
};

/*
 * Starts one thread on each CPU and waits until all are pinned and spin, unrecorded until
 * detectors_measure(). The clock, calibrated or not, must outlive them.
 *
 * Returns 0, or the -errno of the first that could not be set up; always call detectors_join().
 */
int detectors_start(struct detectors *ret, const struct clock_source *clock,
		    const struct cpulist *cpus, const struct policy *policy, size_t log_size);

/* Begins the recorded part on all CPUs; the clock must be calibrated. */
void detectors_measure(struct detectors *detectors, uint64_t threshold_ns, uint64_t duration_ns);

bool detectors_finished(struct detectors *detectors);

/* Ends the recorded part early. */
void detectors_stop(struct detectors *detectors);

/* Lets the threads end and waits for them. Until then each keeps its CPU as busy as before. */
void detectors_join(struct detectors *detectors);

void detectors_deinit(struct detectors *detectors);
