/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hist.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>

static struct hist hist;

static void test_edges(void)
{
	uint64_t previous = 0;
	double worst = 0;
	bool gapless = true, inside = true;
	struct hist_bucket bucket;

	for (size_t bits = 0; bits < HIST_TOP_BITS; bits++) {
		for (uint64_t i = 0; i < 64; i++) {
			const uint64_t value = (UINT64_C(1) << bits) + (i << bits) / 64;
			size_t cursor = 0;

			hist_reset(&hist);
			hist_add(&hist, value);
			hist_next(&hist, &cursor, &bucket);
			inside &= bucket.lower <= value && value < bucket.upper;
			worst = fmax(worst, (double)(bucket.upper - 1 - bucket.lower) /
						    (double)bucket.lower);
		}
	}
	for (size_t i = 0; i < HIST_BUCKETS; i++)
		hist.counts[i] = 1;
	hist.over = 1;
	for (size_t cursor = 0; hist_next(&hist, &cursor, &bucket); previous = bucket.upper)
		gapless &= bucket.lower == previous;
	ok(inside, "each value lies in the bucket reported for it");
	ok(worst <= 0.001, "no bucket is wider than 0.1 %% of its values (%.5f)", worst);
	ok(gapless, "buckets leave no room between them");
}

static void test_overflow(void)
{
	struct hist_bucket bucket = { 0 };
	size_t cursor = 0;

	hist_reset(&hist);
	hist_add(&hist, (UINT64_C(1) << HIST_TOP_BITS) - 1);
	hist_add(&hist, UINT64_C(1) << HIST_TOP_BITS);
	hist_add(&hist, UINT64_MAX - 1);
	ok(hist.total == 3 && hist.over == 2, "values above the range are counted apart");
	ok(hist.max == UINT64_MAX - 1, "the maximum is exact");
	hist_next(&hist, &cursor, &bucket);
	ok(bucket.count == 1, "the last value in range is in its bucket");
	hist_next(&hist, &cursor, &bucket);
	ok(bucket.count == 2 && bucket.lower == UINT64_C(1) << HIST_TOP_BITS &&
		   bucket.upper == UINT64_MAX,
	   "the overflow bucket ends behind the maximum");
	ok(!hist_next(&hist, &cursor, &bucket), "and is the last");
}

/* The definition itself, on the plain values. */
static double share_waiting(const uint64_t *values, size_t count, double delay, double runtime)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += fmax(0, (double)values[i] - delay);
	return sum / runtime;
}

static double true_delay(const uint64_t *values, size_t count, double share, double runtime)
{
	double low = 0, high = 1e9;

	for (int i = 0; i < 100; i++) {
		const double middle = (low + high) / 2;

		if (share_waiting(values, count, middle, runtime) > share)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void test_time_weighted(void)
{
	static const double quantiles[] = { 0.9, 0.99, 0.999, 0.9999, 0.999999 };
	const double runtime = 1e9;
	uint64_t values[1000];

	hist_reset(&hist);
	srand(7);
	for (size_t i = 0; i < 1000; i++) {
		values[i] = 100 + (uint64_t)(rand() % 1000) * (uint64_t)(rand() % 1000);
		hist_add(&hist, values[i]);
	}
	for (size_t i = 0; i < 5; i++) {
		const double delay = hist_time_weighted(&hist, quantiles[i], runtime);
		const double truth = true_delay(values, 1000, 1 - quantiles[i], runtime);

		ok(fabs(delay - truth) <= 0.001 * truth, "p%g is %.0f ns, by definition %.0f ns",
		   100 * quantiles[i], delay, truth);
	}
	hist_reset(&hist);
	ok(hist_time_weighted(&hist, 0.99, runtime) == 0, "no stall, no delay");
	hist_add(&hist, 1000000);
	ok(hist_time_weighted(&hist, 0.99, runtime) == 0, "stalls of 0.1 %% leave p99 at 0");
	ok(fabs(hist_time_weighted(&hist, 0.9995, runtime) - 500000) < 1000,
	   "half of one stall's time is waited for longer than half of it");
}

int main(void)
{
	test_edges();
	test_overflow();
	test_time_weighted();
	return tap_end();
}
