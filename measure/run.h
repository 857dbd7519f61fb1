/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run: what was asked, where it was made, and all that came out of it. */
#ifndef LOWLAT_RUN_H
#define LOWLAT_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"
#include "counters.h"
#include "detector.h"
#include "host.h"
#include "load.h"
#include "options.h"
#include "oslat.h"
#include "scratch.h"
#include "setup.h"
#include "text.h"

/* Lengths whose rates are reported, ns. */
extern const uint64_t run_levels_ns[SPIN_LEVELS];

struct run {
	struct options options;
	struct host host;
	struct setup setup;
	struct scratch scratch;
	struct clock_source clock;
	/* As the measurement used it; clock.hz is the better one of the whole run. */
	double start_hz;
	/* In use: raised where the clock is too coarse for the one asked for. */
	uint64_t threshold_ns;
	struct detectors detectors;
	struct counter_snapshot before;
	struct counter_snapshot after;
	bool counters_valid;
	struct load load;
	bool load_started;
	struct oslat oslat;
	bool oslat_started;
	struct strings problems;
	bool complete;
	bool valid;
	/* The signal that ended it early; 0: none. */
	int interrupted;
};

/*
 * Makes the run of run->options: set-up, warm-up, measurement, oslat, end of all children.
 * SIGINT, SIGTERM and SIGHUP must be blocked in the caller; they end it early.
 *
 * Returns 0, or -EINVAL with the message set when it is refused before anything was started.
 */
int run_make(struct run *run, struct message *message);

/* Sleeps, but not through a signal that ends the run, which it notes. */
void run_wait_ns(struct run *run, uint64_t ns);

void run_deinit(struct run *run);

#endif
