/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run's steps as JSON. Each returns a new reference; null where the run has none. */
#ifndef LOWLAT_RESULT_SERIES_H
#define LOWLAT_RESULT_SERIES_H

#include <jansson.h>

#include "session.h"

/* The length of a step, and when each ended, in seconds since the beginning. */
json_t *result_series(const struct run *run);

/* One CPU's noise, gaps and interrupts of each step. */
json_t *result_series_cpu(const struct run *run, size_t column);

#endif
