/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limits of a load: bytes of memory and files, a memory cgroup, a folder on a disk. */
#pragma once

#include <stdint.h>

#include "load_scenario.h"
#include "memgroup.h"
#include "scratch.h"
#include "text.h"

/* Zero-initialised is none. */
struct load_limits {
	/* path is "" if no group could be made. */
	struct memgroup group;
	/* The folder for the load's files; path is "" if it writes none. */
	struct scratch scratch;
	/* Limits of the load in bytes: memory to allocate, and files to write. */
	uint64_t memory, disk;
	/* Processes killed in the group; set when the load ends. */
	uint64_t oom_kills;
	/* Major page faults in the group during the measured part of the run. */
	uint64_t major_faults;
};

/*
 * Makes the limits for a scenario on so many CPUs. available: bytes of free memory; 0: unknown.
 *
 * Returns 0, or refuses (-EINVAL) if the scenario needs what can't be made: a memory
 * group to exhaust, or room on a disk.
 */
int load_limits_init(const struct load_scenario *scenario, size_t cpus, uint64_t available,
		     struct load_limits *ret);

/* Removes the group and the folder; the numbers stay. */
void load_limits_deinit(struct load_limits *limits);
