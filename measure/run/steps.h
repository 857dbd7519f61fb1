/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run and its steps. Each step notes its problems in the run; no step follows an interrupt. */
#pragma once

#include "session.h"
#include "spin.h"

/* Sets up the run of run->options. Returns 0, or refuses (-EINVAL); nothing is started. */
int run_prepare(struct run *run);

/* Makes it. The caller must block SIGINT, SIGTERM, SIGHUP and SIGIO, which end it early. */
void run_make(struct run *run);
void run_deinit(struct run *run);

/*
 * The load: its limits, before anything is started (refused if they can't be made and the load needs
 * them), its start, and its end, with its output.
 */
int loads_prepare(struct run *run);
void loads_start(struct run *run);
void loads_end(struct run *run);
void loads_deinit(struct run *run);

/* Warms up, measures and ends the detectors; then saves the capture. */
void measurement_make(struct run *run);
void measurement_save(struct run *run);

/*
 * The threshold in use: the requested one if it is at least twice the clock's floor, else the next
 * of 1, 3, 10, 30, ... ns that is. Slightly different floors choose the same one, so that runs can
 * be compared.
 */
uint64_t measurement_threshold(uint64_t asked_ns, double floor_ns);

/*
 * The requested work kinds, one after another; their longest total time; and the throughput, after
 * the load has ended.
 */
void works_make(struct run *run);
uint64_t works_longest_ns(const struct run *run);
void works_throughput(struct run *run);

/* The rate of one run of stress-ng's matrix on all CPUs, per second; 0 if one is unknown. */
double works_rate(const struct run *run, size_t turn);
void works_deinit(struct run *run);

/*
 * The delay of a thread on each measured CPU that wakes on a schedule, beside cyclictest and for
 * the same duration.
 */
void wakeups_make(struct run *run);
uint64_t wakeups_longest_ns(const struct run *run);
void wakeups_deinit(struct run *run);

/*
 * The second opinions, with oslat if it is installed; and their longest total time, without their
 * own warm-ups.
 */
void opinions_make(struct run *run);
uint64_t opinions_longest_ns(const struct run *run);
void opinions_deinit(struct run *run);

/* Adds a sentence to run->problems for each doubt; clears run->valid if figures are wrong. */
void check_run(struct run *run);

/*
 * Time of the loop that is in no reading, gap or dead time, as a share of its runtime; 1 if no
 * batch was without a gap. The loop period comes from batches without a gap, so constant slowness,
 * or disturbance below the threshold, does not count.
 */
double check_unaccounted(const struct spin *spin);
