/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One detector thread a CPU: pinned, its memory touched beforehand, started and ended together. */
#pragma once

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clock.h"
#include "cpulist.h"
#include "policy.h"
#include "spin.h"
#include "throttle.h"

#define DETECTOR_ALIGN 128
/* Work is counted per so much time. */
#define DETECTOR_WINDOW_NS 1000000

/* The lengths whose rates are told, ns. */
extern const uint64_t detector_levels_ns[SPIN_LEVELS];

/* What one CPU's thread is told and what it found; read the latter after detectors_join(). */
struct detector {
	struct detectors *all;
	unsigned int cpu;
	pthread_t thread;
	/* As the kernel numbers it; known once it is ready. */
	pid_t tid;
	/* A cache line of its own: no CPU's gap may cost another one time. */
	alignas(DETECTOR_ALIGN) struct spin spin;
	struct spin_live live;
	struct detector_memory *memory;
	/* Ticks: medians before and after the loop. */
	double floor[2];
	/* Of this thread while it was in the loop. */
	long page_faults, switches;
	bool measured;
	/* The kernel took it off its CPU, which went offline. */
	bool moved;
	/* Of task isolation, where it is offered: 0 or -errno. */
	int isolation;
	/* Set by the one who reads the result. */
	struct throttle throttle;
	/* 0, or the -errno that kept the thread from starting. */
	int error;
};

struct detectors {
	const struct clock_source *clock;
	struct policy policy;
	/* The kernel has task isolation: the loops run under it. */
	bool isolation;
	/* Gaps that one CPU's log holds; 0: no log. */
	size_t log_size;
	struct detector *items;
	size_t count, started;
	/* Threads that are warm, and threads that left the loop. */
	atomic_size_t ready, finished;
	atomic_bool warm, leave;
	/* Read by all loops: nothing that is written during the run may share its line. */
	alignas(DETECTOR_ALIGN) atomic_bool stop;
};

/*
 * Starts one thread on each CPU and waits until all are pinned and spin, unrecorded until
 * detectors_measure(). The clock, calibrated or not, must outlive them.
 *
 * Returns 0, or the -errno of the first that could not be set up; detectors_join() is due anyhow.
 */
int detectors_start(struct detectors *ret, const struct clock_source *clock,
		    const struct cpulist *cpus, const struct policy *policy, size_t log_size);

/* Begins the recorded part on all CPUs; the clock is calibrated. */
void detectors_measure(struct detectors *detectors, uint64_t threshold_ns, uint64_t duration_ns);

bool detectors_finished(struct detectors *detectors);

/* Ends the recorded part early. */
void detectors_stop(struct detectors *detectors);

/* Lets the threads end and waits for them. Until then each keeps its CPU as busy as before. */
void detectors_join(struct detectors *detectors);

void detectors_deinit(struct detectors *detectors);
