/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs of each part of a run: the options, checked against this machine. */
#pragma once

#include <stdio.h>

#include "cpulist.h"
#include "host.h"
#include "options.h"

struct setup {
	struct cpulist measured;
	/* For the loads; empty without a load. */
	struct cpulist load;
	/*
	 * CPUs that are not measured, of those allowed or of the group: for the harness itself. May
	 * be empty.
	 */
	struct cpulist rest;
};

/*
 * Chooses the CPUs and checks that the run is possible: CPUs online and allowed, real-time
 * permission, a CPU for the load, writable files. Binds the calling thread to `rest`, unless
 * setup_enter() will.
 *
 * Returns 0, or refuses (-EINVAL).
 */
int setup_resolve(const struct options *options, const struct host *host, struct setup *ret);

/*
 * Moves this process into the group, and binds the calling thread to `rest`. Processes that were
 * started before, such as the load, stay outside: no task may run on both sides of a partition
 * (admin-guide/cgroup-v2.rst, cpuset.cpus.partition). Returns 0 or -errno.
 */
int setup_enter(const struct options *options, const struct setup *setup);

/* One line for each part: its name, and its CPUs. */
void setup_write(const struct setup *setup, FILE *file);
void setup_deinit(struct setup *setup);

/*
 * Whether real-time spinners on the measured CPUs leave one allowed CPU to the system and to the
 * harness: one that is not isolated, unless all allowed CPUs are.
 */
bool setup_leaves_one(const struct cpulist *measured, const struct cpulist *allowed,
		      const struct cpulist *isolated);
