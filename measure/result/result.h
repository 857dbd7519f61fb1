/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run as JSON, schema lowlat.run/1, and as text. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "session.h"

/* Writes the JSON, indented, with a newline at the end. */
int result_write(const struct run *run, FILE *file);

/* The run as text for people. Not a stable format; the JSON is. */
void summary_write(const struct run *run, FILE *file);

/* The tools of a run, its loads and kinds of work as JSON: what the harness knows of each. */
void tools_write(FILE *file);

/* The gaps of all CPUs as a table: cpu,begin,end in decimal ticks, sorted by begin. */
int events_write(const struct run *run, FILE *file);

/*
 * The parts of the JSON, each a new reference: arrays with one object for each measured CPU, each
 * part of the load, each second opinion except oslat, and each work kind on each CPU, the
 * throughput last; and the object of one second opinion, null if it did not run.
 */
json_t *result_cpus(const struct run *run);
json_t *result_loads(const struct run *run);
json_t *result_opinions(const struct run *run);
json_t *result_works(const struct run *run);
json_t *result_opinion(const struct run *run, size_t tool);
