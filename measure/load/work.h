/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work kinds: what one piece of work takes, from reading the clock to reading it again.
 *
 * They run after the detector, on the CPUs it measured and under its policy, while the load goes
 * on: beside a detector on the same CPU each would measure the other.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"
#include "cpulist.h"
#include "hist.h"
#include "policy.h"

/* What usleep and clock_nanosleep ask for: it is part of their time. */
#define WORK_SLEEP_NS 100000
/* Bytes that one piece of `memory` reads and writes. */
#define WORK_MEMORY_BYTES ((size_t)1 << 20)
/* Dependent multiplications of one piece of `registers`. */
#define WORK_ROUNDS 1000

enum work_kind {
	WORK_USLEEP,
	WORK_CLOCK_NANOSLEEP,
	WORK_MEMORY,
	WORK_REGISTERS,
	WORK_KILL,
	WORK_CLOCK_GETTIME,
	WORK_KINDS,
};

/* NULL where there is none of that kind. */
const char *work_name(size_t kind);

/* Of values added one by one; zero-initialised is none. */
struct moments {
	uint64_t count;
	double mean;
	/* The sum of the squares of what lies apart from the mean. */
	double squares;
};

void moments_add(struct moments *moments, double value);

/* Of the values as a sample: divided by one less than their number; 0 of fewer than two. */
double moments_variance(const struct moments *moments);

/* Of one kind on one CPU. Times in ns. */
struct work_result {
	size_t kind;
	unsigned int cpu;
	/* Worked at the same time, this one among them. */
	char *beside;
	struct moments time;
	struct hist hist;
	/* Of a schedule, those whose moment came when the one before had been served. */
	struct hist apart;
	/* Of a schedule: the thread, and when its latest one was up, in ticks. */
	pid_t tid;
	uint64_t latest;
	/* 0, or -errno: not started there. */
	int error;
};

struct work_thread;

/* Work on all of its CPUs at once. What it points to outlives it. */
struct work {
	/* One kind, or several, of which each CPU has the next one, the first that of the turn. */
	const size_t *kinds;
	size_t kind_count, turn;
	/*
	 * So many moments to sleep to, each so long after the one before, and none skipped however
	 * late that was: what is timed then is how late the thread runs. 0: works until the end.
	 */
	uint64_t wakeups, interval_ns;
	const struct cpulist *cpus;
	const struct policy *policy;
	/* Calibrated. */
	const struct clock_source *clock;
	/* Its own. */
	struct work_thread *threads;
	size_t count;
	atomic_size_t ready;
	atomic_bool go, stop;
};

/*
 * Starts one thread a CPU and lets them work, uncounted at first, until work_finish(). Returns 0 or
 * the -errno of pthread_create(); work_finish() is due in either case.
 */
int work_start(struct work *work);

/*
 * Ends it, wake-ups once they are all made or `stop` is set. results: room for one a CPU, each to be
 * freed by work_result_free(). Returns how many there are: fewer than CPUs where work_start()
 * failed.
 */
size_t work_finish(struct work *work, struct work_result **results);
void work_result_free(struct work_result *result);
