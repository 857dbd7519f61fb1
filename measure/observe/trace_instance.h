/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instances of the kernel's trace, below a tracefs.
 *
 * A living owner holds each one open, so that the kernel refuses to remove it; an instance that can
 * be removed was left by a killed run.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct instance {
	/* "instances/NAME" below the tracefs; "" if there is none. */
	char path[64];
	/* Its folder, and its switch; -1 if there is none. */
	int folder, on;
};

/*
 * Opens the mounted tracefs, else mounts one for this process alone. Returns a file descriptor, or
 * -errno (-EPERM, -EACCES: not permitted; -ENODEV: the kernel has none).
 */
int tracefs_open(void);

/*
 * Removes the instances of killed runs, or of that one run (0: all), if permitted; the kernel
 * refuses (EBUSY) those that are still held open. Returns how many are left.
 */
unsigned int instances_sweep(pid_t run);

/* Makes an instance, named by this process, the time and its kind; and removes it, if it exists. */
int instance_init(int root, const char *kind, struct instance *ret);
void instance_deinit(int root, struct instance *instance);

void instance_switch(const struct instance *instance, bool on);

/*
 * A process that removes the instances of a killed run: the pipe between them closes with the run,
 * for any reason. If both are killed, the next run removes them.
 */
struct trace_keeper {
	/* 0 if there is none. */
	pid_t pid;
	/* Open while the run lives. */
	int alive;
};

/*
 * Starts the process, before the instances are made, because it would hold them open; and ends it,
 * if it exists, after they are removed.
 */
int trace_keeper_init(struct trace_keeper *ret);
void trace_keeper_deinit(struct trace_keeper *keeper);
