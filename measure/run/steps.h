/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run, and its steps. What goes wrong is noted in it; none begins once it is interrupted. */
#pragma once

#include "session.h"
#include "spin.h"

/*
 * Makes the run of run->options. SIGINT, SIGTERM and SIGHUP must be blocked in the caller; they end
 * it early. Returns 0, or -EINVAL with the message set when it is refused before anything was
 * started.
 */
int run_make(struct run *run, struct message *message);
void run_deinit(struct run *run);

/*
 * The load: its limits before anything is started (-EINVAL with the message set where it needs what
 * can't be made), its start, and its end, with what it wrote.
 */
int loads_prepare(struct run *run, struct message *message);
void loads_start(struct run *run);
void loads_end(struct run *run);
void loads_deinit(struct run *run);

/* Warms up, measures and ends the detectors; and saves what was captured, until then. */
void measurement_make(struct run *run);
void measurement_save(struct run *run);

/*
 * The threshold in use: the one asked for where the clock's own reading fits into it twice, else
 * the next of 1, 3, 10, 30, ... ns where it does. Readings that differ a little choose the same, so
 * that runs compare.
 */
uint64_t measurement_threshold(uint64_t asked_ns, double floor_ns);

/*
 * The work kinds that were asked for, one after another, and what all of them together take; and
 * the throughput, once the load has ended.
 */
void works_make(struct run *run);
uint64_t works_longest_ns(const struct run *run);
void works_throughput(struct run *run);

/* What a run of stress-ng's matrix did a second on all CPUs; 0 where one of them is unknown. */
double works_rate(const struct run *run, size_t turn);
void works_deinit(struct run *run);

/*
 * How late a thread on each measured CPU wakes that sleeps on a schedule; in the minute of
 * cyclictest, and as long.
 */
void wakeups_make(struct run *run);
uint64_t wakeups_longest_ns(const struct run *run);

/*
 * The second opinions, and oslat where it is installed, and what all of them together may take,
 * without their own warm-ups.
 */
void opinions_make(struct run *run);
uint64_t opinions_longest_ns(const struct run *run);
void opinions_deinit(struct run *run);

/* Adds a sentence to run->problems for each doubt; clears run->valid where figures are wrong. */
void check_run(struct run *run);

/*
 * Time of the loop that is in neither a reading, nor a gap, nor dead time, as a share of its
 * runtime; 1 when no batch was without a gap. The period comes from the batches that saw none, so a
 * machine that is slow all the time, or disturbed below the threshold, is not blamed for it.
 */
double check_unaccounted(const struct spin *spin);
