/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loops under test, on one CPU, with exact stalls inside or with nothing but the counter.
 *
 *     loop lowlat|sysjitter CPU THRESHOLD_NS SECONDS EVENTS [PLAN TRUTH]
 *
 * lowlat is spin_loop() as lowlat-measure compiles it. EVENTS gets the gaps as a table `begin,end`
 * in ticks. With a PLAN (see stall.h) the run ends with the plan, at the latest after SECONDS. It
 * prints the results as one line of JSON. Exit 77: this machine has no readable counter.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"
#include "spin.h"
#include "stall.h"
#include "sysjitter.h"
#include "units.h"

#define NO_COUNTER 77
#define LOG_SIZE ((size_t)1 << 22)
#define SETTLE_US 60000
#define TAIL_READS 5000

/* The counter with stalls, and the last two readings. */
struct stalling {
	struct stalls stalls;
	uint64_t last;
	uint64_t before;
	uint64_t tail;
};

struct found {
	double ticks_per_ns;
	uint64_t begin;
	uint64_t end;
	uint64_t reads;
	uint64_t dead;
	size_t gaps;
};

static atomic_bool stop;
static struct hist hist;

static void on_alarm(int number)
{
	(void)number;
	atomic_store(&stop, true);
}

static uint64_t read_counter(void *source)
{
	(void)source;
	return clock_counter();
}

static uint64_t read_stalling(void *source)
{
	struct stalling *stalling = source;
	uint64_t now;

	if (stalls_due(&stalling->stalls))
		stalls_next(&stalling->stalls, stalling->last - stalling->before);
	now = clock_counter();
	stalling->before = stalling->last;
	stalling->last = now;
	if (__builtin_expect(stalls_done(&stalling->stalls), 0) && !--stalling->tail)
		atomic_store_explicit(&stop, true, memory_order_relaxed);
	return now;
}

static void *map_log(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static int run_lowlat(double ticks_per_ns, uint64_t threshold_ns, struct stalling *stalling,
		      FILE *events, struct found *ret)
{
	struct spin spin = {
		.threshold = (uint64_t)((double)threshold_ns * ticks_per_ns),
		.duration = UINT64_C(1) << 62,
		.storing_max = (uint64_t)(NS_PER_US * ticks_per_ns),
		.ns_per_tick = 1 / ticks_per_ns,
		.hist = &hist,
		.log = map_log(LOG_SIZE * sizeof(*spin.log)),
		.log_size = LOG_SIZE,
	};

	if (!spin.log)
		return -ENOMEM;
	hist_reset(&hist);
	if (stalling)
		spin_loop(&spin, read_stalling, stalling, &stop);
	else
		spin_loop(&spin, read_counter, NULL, &stop);
	for (size_t i = 0; i < spin.log_used; i++)
		fprintf(events, "%" PRIu64 ",%" PRIu64 "\n", spin.log[i].begin, spin.log[i].end);
	*ret = (struct found){ 0, spin.begin, spin.end, spin.reads, spin.dead, spin.log_used };
	return spin.log_lost ? -ENOSPC : 0;
}

static int run_sysjitter(uint64_t threshold_ns, struct stalling *stalling, FILE *events,
			 struct found *ret)
{
	const uint64_t mhz = sysjitter_mhz();
	struct sysjitter jitter = {
		.threshold = threshold_ns * mhz / 1000,
		.log = map_log((LOG_SIZE + 1) * sizeof(*jitter.log)),
		.log_size = LOG_SIZE,
	};

	if (!jitter.log)
		return -ENOMEM;
	if (stalling)
		sysjitter_loop(&jitter, read_stalling, stalling, &stop);
	else
		sysjitter_loop(&jitter, read_counter, NULL, &stop);
	for (size_t i = 0; i < jitter.log_used; i++)
		fprintf(events, "%" PRIu64 ",%" PRIu64 "\n",
			jitter.log[i].stamp - jitter.log[i].distance, jitter.log[i].stamp);
	*ret = (struct found){ (double)mhz / 1000, jitter.begin, jitter.end, jitter.reads, 0,
			       jitter.log_used };
	return jitter.log_used == LOG_SIZE ? -ENOSPC : 0;
}

static int pin(const char *text)
{
	uint64_t cpu;
	cpu_set_t set;

	if (parse_u64(text, &cpu) || cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

static int run(char **words, struct clock_source *clock)
{
	const bool lowlat = strcmp(words[0], "lowlat") == 0;
	const bool planned = words[5];
	_cleanup_fclose_ FILE *events = fopen(words[4], "we");
	struct stalling stalling = { .tail = TAIL_READS };
	struct found found = { 0 };
	uint64_t threshold, seconds;
	double floor;
	int err;

	if (!events || parse_u64(words[2], &threshold) || parse_u64(words[3], &seconds))
		return -EINVAL;
	fputs("begin,end\n", events);
	err = planned ? stalls_init(words[5], clock->hz / 1e9, &stalling.stalls) : 0;
	if (err)
		return err;
	floor = clock_floor(clock);
	stalling.last = stalling.before = clock_counter();
	signal(SIGALRM, on_alarm);
	alarm((unsigned int)seconds);
	err = lowlat ? run_lowlat(clock->hz / 1e9, threshold, planned ? &stalling : NULL, events,
				  &found) :
		       run_sysjitter(threshold, planned ? &stalling : NULL, events, &found);
	clock_calibrate(clock);
	if (lowlat)
		found.ticks_per_ns = clock->hz / 1e9;
	if (!err && planned)
		err = stalls_write(&stalling.stalls, words[6]);
	printf("{\"ticks_per_ns\": %.9f, \"true_ticks_per_ns\": %.9f, \"floor\": %.3f, "
	       "\"begin\": %" PRIu64 ", \"end\": %" PRIu64 ", \"reads\": %" PRIu64
	       ", \"dead\": %" PRIu64 ", \"gaps\": %zu}\n",
	       found.ticks_per_ns, clock->hz / 1e9, floor, found.begin, found.end, found.reads,
	       found.dead, found.gaps);
	stalls_deinit(&stalling.stalls);
	return err;
}

int main(int argc, char **argv)
{
	struct clock_source clock;
	int err;

	if ((argc != 6 && argc != 8) || pin(argv[2])) {
		fprintf(stderr, "loop: see the head of its source\n");
		return 2;
	}
	clock_init(&clock);
	if (clock.kind != CLOCK_KIND_COUNTER)
		return NO_COUNTER;
	usleep(SETTLE_US);
	clock_calibrate(&clock);
	err = run(argv + 1, &clock);
	if (err)
		fprintf(stderr, "loop: %s\n", strerror(-err));
	return err ? 1 : 0;
}
