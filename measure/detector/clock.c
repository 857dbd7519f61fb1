/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "clock.h"

#include <stdlib.h>
#include <sys/prctl.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define PAIR_TRIES 200
#define BATCHES 512
#define BATCH_READS 64

#if defined(__x86_64__)
static bool counter_readable(void)
{
	unsigned int a, b, c, d;
	int mode = PR_TSC_ENABLE;

	/* The parent may have forbidden the counter; then clock_gettime() ends this process too. */
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	prctl(PR_GET_TSC, &mode);
	return mode == PR_TSC_ENABLE && __get_cpuid(1, &a, &b, &c, &d) && (d & 1U << 4);
}

static bool counter_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1U << 8);
}

#define COUNTER_NAME "tsc"
#else
static bool counter_readable(void)
{
#if defined(__aarch64__)
	return true;
#else
	return false;
#endif
}

static bool counter_invariant(void)
{
	return true;
}

#define COUNTER_NAME "cntvct"
#endif

uint64_t clock_now(const struct clock_source *clock)
{
	return clock->kind == CLOCK_KIND_COUNTER ? clock_counter() : clock_raw_ns();
}

/* The tightest of many brackets: an interrupt that hits some of them can't hit all. */
static struct clock_pair take_pair(const struct clock_source *clock)
{
	struct clock_pair best = { .width = UINT64_MAX };

	for (int i = 0; i < PAIR_TRIES; i++) {
		const uint64_t before = clock_now(clock);
		const uint64_t raw = clock_raw_ns();
		const uint64_t width = clock_now(clock) - before;

		if (width < best.width)
			best = (struct clock_pair){ before + width / 2, raw, width };
	}
	return best;
}

void clock_init(struct clock_source *ret)
{
	*ret = (struct clock_source){
		.kind = CLOCK_KIND_GETTIME,
		.name = "monotonic_raw",
		.invariant = true,
		.hz = 1e9,
	};
	if (counter_readable()) {
		ret->kind = CLOCK_KIND_COUNTER;
		ret->name = COUNTER_NAME;
		ret->invariant = counter_invariant();
	}
	ret->first = take_pair(ret);
}

void clock_calibrate(struct clock_source *clock)
{
	const struct clock_pair *first = &clock->first, *last = &clock->last;

	clock->last = take_pair(clock);
	if (clock->kind == CLOCK_KIND_COUNTER)
		clock->hz = (double)(last->ticks - first->ticks) * 1e9 /
			    (double)(last->raw_ns - first->raw_ns);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Each reader gets its own copy, with eight readings unrolled as in the loop. */
static inline __attribute__((always_inline)) double batch(uint64_t (*read)(void))
{
	const uint64_t first = read();
	uint64_t last = first;

#pragma GCC unroll 8
	for (int i = 0; i < BATCH_READS; i++)
		last = read();
	return (double)(last - first) / BATCH_READS;
}

double clock_floor(const struct clock_source *clock)
{
	double batches[BATCHES];

	for (int i = 0; i < BATCHES; i++)
		batches[i] = clock->kind == CLOCK_KIND_COUNTER ? batch(clock_counter) :
								 batch(clock_raw_ns);
	qsort(batches, BATCHES, sizeof(*batches), compare);
	return batches[BATCHES / 2];
}
