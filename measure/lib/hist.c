/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hist.h"

#include <math.h>
#include <string.h>

static uint64_t lower_edge(size_t index)
{
	const size_t shift = index / HIST_SUB;

	if (index < 2 * HIST_SUB)
		return index;
	return (uint64_t)(index % HIST_SUB + HIST_SUB) << (shift - 1);
}

void hist_reset(struct hist *hist)
{
	memset(hist, 0, sizeof(*hist));
}

static struct hist_bucket bucket_at(const struct hist *hist, size_t index)
{
	if (index == HIST_BUCKETS)
		return (struct hist_bucket){ lower_edge(index), hist->max + 1, hist->over };
	return (struct hist_bucket){ lower_edge(index), lower_edge(index + 1),
				     hist->counts[index] };
}

int hist_next(const struct hist *hist, size_t *cursor, struct hist_bucket *ret)
{
	while (*cursor <= HIST_BUCKETS) {
		*ret = bucket_at(hist, (*cursor)++);
		if (ret->count)
			return 1;
	}
	return 0;
}

uint64_t hist_value_at(const struct hist *hist, double quantile)
{
	const double wanted = fmax(1, ceil(quantile * (double)hist->total));
	struct hist_bucket bucket;
	double seen = 0;

	if (quantile < 1) {
		for (size_t cursor = 0; hist_next(hist, &cursor, &bucket);) {
			const uint64_t middle =
				bucket.lower + (bucket.upper - 1 - bucket.lower) / 2;

			seen += (double)bucket.count;
			if (seen < wanted)
				continue;
			if (middle < hist->min)
				return hist->min;
			return middle < hist->max ? middle : hist->max;
		}
	}
	return hist->max;
}

double hist_time_weighted(const struct hist *hist, double quantile, double runtime_ns)
{
	const double target = (1.0 - quantile) * runtime_ns;
	double sum = 0, count = 0, delay;

	/* From the longest down: time spent waiting longer than d is sum - count * d. */
	for (size_t i = HIST_BUCKETS + 1; i-- > 0;) {
		const struct hist_bucket bucket = bucket_at(hist, i);
		const double middle = ((double)bucket.lower + (double)(bucket.upper - 1)) / 2;

		if (!bucket.count)
			continue;
		if (sum - count * middle >= target)
			break;
		sum += middle * (double)bucket.count;
		count += (double)bucket.count;
	}
	delay = count > 0 && sum > target ? (sum - target) / count : 0;
	return delay < (double)hist->max ? delay : (double)hist->max;
}
