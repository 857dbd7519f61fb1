/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits within a run, which a signal ends. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "session.h"

/* The signals that end the run. */
sigset_t run_signals(void);

/*
 * Sleeps until a signal that ends the run, and notes that signal: SIGPIPE if the reader of the phases
 * is gone. Other signals may wake it too.
 */
void run_wait_ns(struct run *run, uint64_t ns);

/* Sleeps until this time (CLOCK_MONOTONIC_RAW), unless the run is interrupted. */
void run_wait_until(struct run *run, uint64_t deadline_ns);

/* Whether this program was stopped, and continued, since the last call. SIGCONT has to be blocked. */
bool run_was_stopped(void);

/* Waits for a child to end; a signal that ends the run shortens the wait. */
void run_wait_child(struct run *run, struct child *child);
