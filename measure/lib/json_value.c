/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "json_value.h"

#include <math.h>

#include "cleanup.h"

json_t *value_text(const char *text)
{
	_cleanup_free_ char *copy = NULL;
	json_t *string;

	if (!text)
		return json_null();
	string = json_string(text);
	if (string)
		return string;
	copy = text_format("%s", text);
	for (char *c = copy; *c; c++) {
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	}
	return json_string(copy);
}

json_t *value_list(const struct cpulist *list)
{
	_cleanup_free_ char *text = cpulist_format(list);

	return value_text(text);
}

json_t *value_strings(const struct strings *strings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < strings->count; i++)
		json_array_append_new(array, value_text(strings->items[i]));
	return array;
}

json_t *value_count(uint64_t value)
{
	return json_integer((json_int_t)value);
}

json_t *value_whole(double value)
{
	return json_integer(llround(value));
}

json_t *value_hist(const struct hist *hist)
{
	json_t *counts = json_array();
	struct hist_bucket bucket;
	size_t cursor = 0;

	while (hist_next(hist, &cursor, &bucket))
		json_array_append_new(counts, json_pack("[I, I, I]", (json_int_t)bucket.lower,
							(json_int_t)bucket.upper,
							(json_int_t)bucket.count));
	return json_pack("{s:s, s:o}", "unit", "ns", "counts", counts);
}
