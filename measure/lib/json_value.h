/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The harness's own types as JSON. Each function returns a new reference. */
#pragma once

#include <jansson.h>

#include "cpulist.h"
#include "hist.h"
#include "text.h"

/* Text of other programs may hold any bytes: if it is not UTF-8, they become '?'; NULL is null. */
json_t *value_text(const char *text);

/* In the kernel's CPU list syntax. */
json_t *value_list(const struct cpulist *list);
json_t *value_strings(const struct strings *strings);
json_t *value_count(uint64_t value);
/* Whole nanoseconds: fractions are noise of the clock itself. */
json_t *value_whole(double value);

/* The unit, and [lower, upper, count] of each non-empty bucket. */
json_t *value_hist(const struct hist *hist);
