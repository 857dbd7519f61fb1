/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preempts one CPU at random times, and records when it had the CPU.
 *
 *     inject CPU SECONDS SEED MEAN_US TRUTH
 *
 * It runs as SCHED_FIFO, so that it preempts at once. It wakes at absolute times, at exponentially
 * distributed intervals with mean MEAN_US, and spins for 1 to 500 us, log-uniformly distributed.
 * TRUTH gets a table `begin,end` in ticks of the counter. Exit 77: this machine has no readable
 * counter; 78: SCHED_FIFO is not permitted.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"
#include "spin.h"
#include "units.h"

#define NO_COUNTER 77
#define NOT_PERMITTED 78
#define PRIORITY 50
#define SHORTEST_NS 1000.0
#define LONGEST_NS 500000.0
#define SETTLE_US 60000

struct orders {
	uint64_t cpu;
	uint64_t seconds;
	uint64_t seed;
	uint64_t mean_us;
};

static int settle(const struct orders *orders)
{
	const struct sched_param param = { .sched_priority = PRIORITY };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(orders->cpu, &set);
	mlockall(MCL_CURRENT | MCL_FUTURE);
	if (sched_setaffinity(0, sizeof(set), &set))
		return -errno;
	return sched_setscheduler(0, SCHED_FIFO, &param) ? -errno : 0;
}

static void advance(struct timespec *moment, uint64_t ns)
{
	ns += (uint64_t)moment->tv_nsec;
	moment->tv_sec += (time_t)(ns / NS_PER_S);
	moment->tv_nsec = (long)(ns % NS_PER_S);
}

static struct gap spin_for(uint64_t ticks)
{
	const uint64_t begin = clock_counter();
	uint64_t now = begin;

	while (now - begin < ticks)
		now = clock_counter();
	return (struct gap){ begin, now };
}

/* Returns how many. */
static size_t inject(const struct orders *orders, double ticks_per_ns, struct gap *log, size_t size)
{
	const uint64_t end = clock_raw_ns() + orders->seconds * NS_PER_S;
	struct timespec moment;
	size_t used = 0;

	srand48((long)orders->seed);
	clock_gettime(CLOCK_MONOTONIC, &moment);
	while (used < size && clock_raw_ns() < end) {
		const double pause = -log1p(-drand48()) * (double)(orders->mean_us * NS_PER_US);
		const double length = SHORTEST_NS * pow(LONGEST_NS / SHORTEST_NS, drand48());

		advance(&moment, (uint64_t)pause);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, NULL);
		log[used++] = spin_for((uint64_t)(length * ticks_per_ns));
	}
	return used;
}

static int run(const struct orders *orders, const struct clock_source *clock, const char *path)
{
	const size_t size = 4 * orders->seconds * 1000000 / orders->mean_us + 1000;
	_cleanup_fclose_ FILE *file = fopen(path, "we");
	_cleanup_free_ struct gap *log = calloc(size, sizeof(*log));
	size_t used;
	int err;

	if (!file || !log)
		return file ? -ENOMEM : -errno;
	memset(log, 1, size * sizeof(*log));
	err = settle(orders);
	if (err)
		return err;
	used = inject(orders, clock->hz / 1e9, log, size);
	fputs("begin,end\n", file);
	for (size_t i = 0; i < used; i++)
		fprintf(file, "%" PRIu64 ",%" PRIu64 "\n", log[i].begin, log[i].end);
	return fflush(file) ? -EIO : 0;
}

int main(int argc, char **argv)
{
	struct clock_source clock;
	struct orders orders;
	int err;

	if (argc != 6 || parse_u64(argv[1], &orders.cpu) || parse_u64(argv[2], &orders.seconds) ||
	    parse_u64(argv[3], &orders.seed) || parse_u64(argv[4], &orders.mean_us) ||
	    !orders.mean_us || orders.cpu >= CPU_SETSIZE) {
		fprintf(stderr, "inject: see the head of its source\n");
		return 2;
	}
	clock_init(&clock);
	if (clock.kind != CLOCK_KIND_COUNTER)
		return NO_COUNTER;
	usleep(SETTLE_US);
	clock_calibrate(&clock);
	err = run(&orders, &clock, argv[5]);
	if (err)
		fprintf(stderr, "inject: %s\n", strerror(-err));
	return err == -EPERM ? NOT_PERMITTED : err != 0;
}
