/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times: parsing as users write them, with full checks; formatting; and the time now. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* Decimal digits and nothing else. Returns 0, -EINVAL (not a number) or -ERANGE. */
int parse_u64(const char *text, uint64_t *ret);

/*
 * A whole number and its unit: ns, us, ms, s, m (minutes) or h.
 *
 * ret: nanoseconds.
 * Returns 0, -EINVAL (no number, no unit, unknown unit) or -ERANGE.
 */
int parse_time(const char *text, uint64_t *ret);

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* CLOCK_MONOTONIC_RAW: no program adjusts it. */
static inline uint64_t clock_raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Formats nanoseconds in the largest unit that keeps the number whole ("100ns", "10s"). */
const char *format_time(uint64_t ns, char *buffer, int size);
