/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result_series.h"

#include "json_value.h"

json_t *result_series(const struct run *run)
{
	const struct series *series = &run->series;
	json_t *ends;

	if (!series->count)
		return json_null();
	ends = json_array();
	for (size_t step = 0; step < series->count; step++)
		json_array_append_new(ends, json_real((double)series->ends_ns[step] / 1e9));
	return json_pack("{s:f, s:o}", "step_s", (double)series->step_ns / 1e9, "ends_s", ends);
}

static struct series_point growth(const struct series *series, size_t column, size_t step)
{
	struct series_point grown = *series_point(series, column, step);

	if (step) {
		const struct series_point *before = series_point(series, column, step - 1);

		grown.noise -= before->noise;
		grown.gaps -= before->gaps;
		grown.entries -= before->entries;
	}
	return grown;
}

json_t *result_series_cpu(const struct run *run, size_t column)
{
	const struct series *series = &run->series;
	json_t *noise, *gaps, *entries;

	if (!series->count)
		return json_null();
	noise = json_array();
	gaps = json_array();
	entries = series->counted ? json_array() : json_null();
	for (size_t step = 0; step < series->count; step++) {
		const struct series_point grown = growth(series, column, step);

		json_array_append_new(noise,
				      value_whole(clock_ns(&run->clock, (double)grown.noise)));
		json_array_append_new(gaps, json_integer((json_int_t)grown.gaps));
		if (series->counted)
			json_array_append_new(entries, json_integer((json_int_t)grown.entries));
	}
	return json_pack("{s:o, s:o, s:o}", "noise_ns", noise, "gaps", gaps, "entries", entries);
}
