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
	/* path is "" where no group can be made. */
	struct memgroup group;
	/* Where the load writes files; path is "" where it writes none. */
	struct scratch scratch;
	/* All that the load may allocate and write, in bytes. */
	uint64_t memory, disk;
	/* Processes killed in the group; the one who ends the load counts them. */
	uint64_t oom_kills;
	/* Page faults in the group that had to read, of the measured part of the run. */
	uint64_t major_faults;
};

/*
 * Makes it for a scenario on so many CPUs. available: bytes of memory that the machine has left; 0:
 * unknown.
 *
 * Returns 0, or -EINVAL with the message set where the scenario can't do without what can't be
 * made: a memory group to be exhausted in, a disk with room.
 */
int load_limits_init(const struct load_scenario *scenario, size_t cpus, uint64_t available,
		     struct load_limits *ret, struct message *message);

/* Removes the group and the folder; the numbers stay. */
void load_limits_deinit(struct load_limits *limits);
