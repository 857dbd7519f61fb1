/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The harness's own kinds of value as JSON. Each returns a new reference. */
#pragma once

#include <jansson.h>

#include "cpulist.h"
#include "hist.h"
#include "text.h"

/* Text of other programs may be anything; what is no UTF-8 becomes '?', NULL becomes null. */
json_t *value_text(const char *text);

/* In the kernel's syntax of CPU lists. */
json_t *value_list(const struct cpulist *list);
json_t *value_strings(const struct strings *strings);
json_t *value_count(uint64_t value);
/* Whole nanoseconds: what lies below is noise of the clock itself. */
json_t *value_whole(double value);

/* Its unit, and [lower, upper, count] of each bucket that holds something. */
json_t *value_hist(const struct hist *hist);
