/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run, and its steps in the order in which they are taken. What goes wrong is noted in it. */
#pragma once

#include "session.h"
#include "spin.h"

/*
 * Makes the run of run->options: set-up, warm-up, measurement, work kinds, second opinions, end of all children.
 * SIGINT, SIGTERM and SIGHUP must be blocked in the caller; they end it early.
 *
 * Returns 0, or -EINVAL with the message set when it is refused before anything was started.
 */
int run_make(struct run *run, struct message *message);

void run_deinit(struct run *run);

/*
 * Makes the limits of the load, before anything is started: its memory cgroup, and a folder on a
 * disk where it writes files.
 *
 * Returns 0, or -EINVAL with the message set where the scenario needs what can't be made.
 */
int loads_prepare(struct run *run, struct message *message);

/* Starts the load that was asked for. */
void loads_start(struct run *run);

/* Warms up, measures and ends the detectors. */
void measurement_make(struct run *run);

/*
 * The threshold in use: the one asked for where the clock's own reading fits into it twice, else the
 * next of 1, 3, 10, 30, ... ns where it does. Readings that differ a little choose the same, so that
 * runs compare.
 */
uint64_t measurement_threshold(uint64_t asked_ns, double floor_ns);

/* Runs the work kinds that were asked for, one after another, unless the run was interrupted. */
void works_make(struct run *run);

/* What all of them together take. */
uint64_t works_longest_ns(const struct run *run);

/* Runs the second opinions, and oslat where it is installed, unless the run was interrupted. */
void opinions_make(struct run *run);

/* What all of them together may take, without their own warm-ups. */
uint64_t opinions_longest_ns(const struct run *run);

/* Ends the load and keeps what it wrote. */
void loads_end(struct run *run);

/* Measures the throughput that was asked for; the load must have ended. */
void works_throughput(struct run *run);

/* Adds a sentence to run->problems for each doubt; clears run->valid where figures are wrong. */
void check_run(struct run *run);

/*
 * Time of the loop that is in neither a reading, nor a gap, nor dead time, as a share of its
 * runtime; 1 when no batch was without a gap. The period comes from the batches that saw none, so a
 * machine that is slow all the time, or disturbed below the threshold, is not blamed for it.
 */
double check_unaccounted(const struct spin *spin);

void loads_deinit(struct run *run);
void works_deinit(struct run *run);
void opinions_deinit(struct run *run);
