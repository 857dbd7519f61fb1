/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load beside the detector; what goes wrong with it is noted in the run. */
#pragma once

#include "session.h"

/*
 * Makes the limits of the load, before anything is started: its memory cgroup, and a folder on a
 * disk where it writes files.
 *
 * Returns 0, or -EINVAL with the message set where the scenario needs what can't be made.
 */
int loads_prepare(struct run *run, struct message *message);

/* Starts the load that was asked for. */
void loads_start(struct run *run);

/* Ends the load and keeps what it wrote. */
void loads_end(struct run *run);

void loads_deinit(struct run *run);
