/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work kinds: the time of one piece of work, between two readings of the clock.
 *
 * They run after the detector, on its CPUs, under its policy and with the same load: on one CPU at
 * the same time, detector and work would measure each other.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

#include "clock.h"
#include "cpulist.h"
#include "hist.h"
#include "policy.h"
#include "units.h"

/* The sleep of usleep and clock_nanosleep, in ns; it is part of their time. */
#define WORK_SLEEP_NS 100000
/* Bytes that one piece of `memory` reads and writes. */
#define WORK_MEMORY_BYTES ((size_t)1 << 20)
/* Dependent multiplications of one piece of `registers`. */
#define WORK_ROUNDS 1000
/* The longest time of one kind. */
#define WORK_LONGEST_NS (10 * NS_PER_S)

enum work_kind {
	WORK_USLEEP,
	WORK_CLOCK_NANOSLEEP,
	WORK_MEMORY,
	WORK_REGISTERS,
	WORK_KILL,
	WORK_CLOCK_GETTIME,
	WORK_KINDS,
};

/* NULL if there is no such kind. */
const char *work_name(size_t kind);

/* Moments of values added one by one; zero-initialised is empty. */
struct moments {
	uint64_t count;
	double mean;
	/* The sum of the squared deviations from the mean. */
	double squares;
};

void moments_add(struct moments *moments, double value);

/* The sample variance, with divisor count - 1; 0 for fewer than two values. */
double moments_variance(const struct moments *moments);

/* One kind on one CPU. Times in ns. */
struct work_result {
	size_t kind;
	unsigned int cpu;
	/* The CPUs that worked at the same time, including this one. */
	char *beside;
	struct moments time;
	struct hist hist;
	/* Of a schedule: the wake-ups that were due after the previous one had been served. */
	struct hist apart;
	/* Of a schedule: the thread, and the time of its latest wake-up, in ticks. */
	pid_t tid;
	uint64_t latest;
	/* 0, or -errno if it did not start there. */
	int error;
};

struct work_thread;

/* Work on all of its CPUs at once. The objects that it points to must outlive it. */
struct work {
	/* One kind, or several: each CPU gets the next kind, the first CPU that of the turn. */
	const size_t *kinds;
	size_t kind_count, turn;
	/*
	 * The number of wake-ups, and the interval between them. None is skipped, however late the
	 * previous one was; the time measured is the delay of the thread. 0: works until the end.
	 */
	uint64_t wakeups, interval_ns;
	const struct cpulist *cpus;
	const struct policy *policy;
	/* A calibrated clock. */
	const struct clock_source *clock;
	/* Private. */
	struct work_thread *threads;
	size_t count;
	atomic_size_t ready;
	atomic_bool go, stop;
};

/*
 * Starts one thread per CPU, which works until work_finish(); the first pieces are not counted.
 * Returns 0 or the -errno of pthread_create(); call work_finish() in either case.
 */
int work_start(struct work *work);

/*
 * Ends the work; wake-ups end after the last one or when `stop` is set. results: room for one per
 * CPU, each freed by work_result_free(). Returns their number: fewer than CPUs if work_start()
 * failed.
 */
size_t work_finish(struct work *work, struct work_result **results);
void work_result_free(struct work_result *result);
