/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that removes the trace's instances of a run that was killed.
 *
 * The pipe between them ends with the run, whatever ended it. Where both are killed, the next run
 * removes them.
 */
#pragma once

#include <sys/types.h>

struct trace_keeper {
	/* 0: there is none. */
	pid_t pid;
	/* Open while the run lives. */
	int alive;
};

/*
 * Starts it. It has to be started before the instances are made, as it would hold them open.
 *
 * Returns 0 or -errno.
 */
int trace_keeper_init(struct trace_keeper *ret);

/* Ends it, once the instances are removed. Harmless where there is none. */
void trace_keeper_deinit(struct trace_keeper *keeper);
