/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log-linear histogram of whole nanoseconds.
 *
 * Values below 2048 have a bucket each; above, each power of two is divided into 1024 buckets of
 * equal width, so that a bucket is never wider than 1/1024 of its values (relative error below 0.1
 * %). The range ends at 2^47 ns (39 hours). Larger values go into one last bucket; minimum and
 * maximum are stored separately and exactly: no value is lost.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HIST_SUB_BITS 10
#define HIST_TOP_BITS 47
#define HIST_SUB (UINT64_C(1) << HIST_SUB_BITS)
#define HIST_BUCKETS ((HIST_TOP_BITS - HIST_SUB_BITS + 1) * HIST_SUB)

struct hist {
	uint64_t total, min, max, over;
	uint64_t counts[HIST_BUCKETS];
};

/* One bucket: values from lower (inclusive) to upper (exclusive). */
struct hist_bucket {
	uint64_t lower, upper, count;
};

static inline size_t hist_index(uint64_t value)
{
	unsigned int shift;

	if (value < 2 * HIST_SUB)
		return (size_t)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - HIST_SUB_BITS;
	return (size_t)(shift * HIST_SUB + (value >> shift));
}

/* Adds one value. No system call, no allocation. */
static inline void hist_add(struct hist *hist, uint64_t value)
{
	const size_t index = hist_index(value);

	if (value < hist->min || !hist->total)
		hist->min = value;
	hist->total++;
	if (value > hist->max)
		hist->max = value;
	if (index < HIST_BUCKETS)
		hist->counts[index]++;
	else
		hist->over++;
}

/* Empties the histogram; touches every page. */
void hist_reset(struct hist *hist);

/*
 * Walks the non-empty buckets, ascending, the overflow bucket last; the cursor is 0 before the
 * first call. Returns 1 and fills ret, or 0 at the end.
 */
int hist_next(const struct hist *hist, size_t *cursor, struct hist_bucket *ret);

/*
 * The value that a share of `quantile` (0 to 1) of the values does not exceed: the middle of its
 * bucket, within the exact minimum and maximum; 0 for an empty histogram.
 */
uint64_t hist_value_at(const struct hist *hist, double quantile);

/*
 * Delay in ns that a random arrival exceeds with probability 1 - quantile, if each value is a stall
 * and the arrival waits for its rest. The denominator is `runtime_ns` in all cases, busy or not.
 *
 * Returns 0 if all stalls together are shorter than that share of the runtime.
 */
double hist_time_weighted(const struct hist *hist, double quantile, double runtime_ns);
