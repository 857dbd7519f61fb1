/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load beside the detector; what goes wrong with it is noted in the run. */
#ifndef LOWLAT_COMPANIONS_H
#define LOWLAT_COMPANIONS_H

#include "session.h"

/*
 * Makes what the load is fenced in with, before anything is started: its memory cgroup, and a
 * folder on a disk where it writes files.
 *
 * Returns 0, or -EINVAL with the message set where the scenario can't do without.
 */
int companions_prepare(struct run *run, struct message *message);

/* Starts the load that was asked for. */
void companions_start(struct run *run);

/* Ends the load and keeps what it wrote. */
void companions_end(struct run *run);

/* Waits for a child's own end; a signal that ends the run shortens that. */
void companions_wait(struct run *run, struct child *child);

void companions_deinit(struct run *run);

#endif
