/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run as JSON, schema lowlat.run/1, and as text. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "session.h"

/* Writes it, indented, with a newline at the end. Returns 0 or -EIO. */
int result_write(const struct run *run, FILE *file);

/* The run as text for people. Not a stable format; the JSON is. */
void summary_write(const struct run *run, FILE *file);

/* The gaps of all CPUs as a table: cpu,begin,end in decimal ticks, sorted by begin. Returns 0 or -EIO. */
int events_write(const struct run *run, FILE *file);

/* Its parts, each a new reference: an array with an object for each CPU that was measured. */
json_t *result_cpus(const struct run *run);

/* An array with an object for each part of the load. */
json_t *result_loads(const struct run *run);

/* An object, or null where oslat did not run. */
json_t *result_oslat(const struct run *run);

/* An array with an object for each of the other second opinions. */
json_t *result_opinions(const struct run *run);

/* An array with an object for each work kind on each CPU, and one for the throughput. */
json_t *result_works(const struct run *run);
