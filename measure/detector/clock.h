/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run's clock: the CPU's own counter if it can be read, else clock_gettime(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "units.h"

enum clock_kind {
	CLOCK_KIND_COUNTER,
	CLOCK_KIND_GETTIME,
};

/* One moment on both clocks, and the longest distance between the two readings, in ticks. */
struct clock_pair {
	uint64_t ticks;
	uint64_t raw_ns;
	uint64_t width;
};

struct clock_source {
	enum clock_kind kind;
	const char *name;
	/* Whether the processor guarantees a constant rate. */
	bool invariant;
	/* Ticks per second, from the calibration at the start; corrected at the end. */
	double hz;
	struct clock_pair first;
	/* From the latest calibration. */
	struct clock_pair last;
};

/* No serialisation on x86: an interrupt serialises, and a fence costs a third of the loop. */
static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
	return ticks;
#else
	return 0;
#endif
}

/* Reads the clock, in ticks. */
uint64_t clock_now(const struct clock_source *clock);

/* Chooses the source and takes the first pair; hz is unknown until clock_calibrate(). */
void clock_init(struct clock_source *ret);

/* Sets hz from the first pair and a new one, at least 20 ms later for an accuracy of a few ppm. */
void clock_calibrate(struct clock_source *clock);

/* The time between two readings in a row, in ticks: the median of 512 batches of 64. */
double clock_floor(const struct clock_source *clock);

static inline double clock_ns(const struct clock_source *clock, double ticks)
{
	return ticks * 1e9 / clock->hz;
}
