/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instances of the kernel's trace, below a tracefs.
 *
 * Each is held open while its owner lives, so that the kernel refuses to remove it; what can be
 * removed was left by a run that was killed.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct instance {
	char name[48];
	/* Its folder, and its switch; -1: there is none. */
	int folder, on;
};

/*
 * Opens the tracefs: where it is mounted, else one that is mounted for this process alone. Returns
 * a file descriptor, or -errno (-EPERM, -EACCES: not permitted; -ENODEV: the kernel has none).
 */
int tracefs_open(void);

/*
 * Removes what killed runs left, or that one run (0: all), where that is permitted; the kernel
 * refuses (EBUSY) what its owner still holds open. Returns how many are left.
 */
unsigned int instances_sweep(pid_t run);

/* Makes one, named by this process, the moment and its kind, and removes it, if it is there. */
int instance_init(int root, const char *kind, struct instance *ret);
void instance_deinit(int root, struct instance *instance);

void instance_switch(const struct instance *instance, bool on);

/*
 * A process that removes the instances of a run that was killed: the pipe between them ends with
 * the run, whatever ended it. Where both are killed, the next run removes them.
 */
struct trace_keeper {
	/* 0: there is none. */
	pid_t pid;
	/* Open while the run lives. */
	int alive;
};

/*
 * Starts it, before the instances are made, as it would hold them open; and ends it, if it is
 * there, once they are removed.
 */
int trace_keeper_init(struct trace_keeper *ret);
void trace_keeper_deinit(struct trace_keeper *keeper);
