/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run from its set-up to the end of all that it started. */
#pragma once

#include "session.h"

/*
 * Makes the run of run->options: set-up, warm-up, measurement, work kinds, second opinions, end of all children.
 * SIGINT, SIGTERM and SIGHUP must be blocked in the caller; they end it early.
 *
 * Returns 0, or -EINVAL with the message set when it is refused before anything was started.
 */
int run_make(struct run *run, struct message *message);

void run_deinit(struct run *run);
