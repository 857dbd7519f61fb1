/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For the oracle: adds the whole numbers of standard input to a histogram and prints its buckets
 * ("bucket LOWER UPPER COUNT") and values at quantiles ("at QUANTILE VALUE").
 */
#include <inttypes.h>
#include <stdio.h>

#include "hist.h"

int main(void)
{
	static const double quantiles[] = {
		0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1
	};
	static struct hist hist;
	struct hist_bucket bucket;
	uint64_t value;
	int err;

	hist_reset(&hist);
	while ((err = scanf("%" SCNu64, &value)) == 1)
		hist_add(&hist, value);
	for (size_t cursor = 0; hist_next(&hist, &cursor, &bucket);)
		printf("bucket %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", bucket.lower, bucket.upper,
		       bucket.count);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(*quantiles); i++)
		printf("at %g %" PRIu64 "\n", quantiles[i], hist_value_at(&hist, quantiles[i]));
	return err != EOF;
}
