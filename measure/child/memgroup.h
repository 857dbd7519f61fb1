/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A memory cgroup of the load's own: what runs out of memory in there is killed in there.
 *
 * In cgroup v2 it lies beside the caller's own group or one of its parents, because a group with
 * processes in it can't hand memory on; in v1 it lies in the caller's own. Both need root, or a
 * hierarchy that was handed to the user.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "text.h"

struct memgroup {
	/* "": none. */
	char path[PATH_MAX];
	/* Of the cgroup hierarchy: 1 or 2. */
	int version;
	uint64_t limit;
};

/*
 * The path of the group that a new one can be made in, as told below `root` ("": the live system).
 * Returns the version of the hierarchy, or -errno with the reason set, a clause without full stop.
 */
int memgroup_find_parent(const char *root, char parent[PATH_MAX], struct message *reason);

/*
 * Makes it, with `limit` bytes of memory and no swap, and removes what a killed harness left.
 * Returns 0, or -errno with the reason set.
 */
int memgroup_init(uint64_t limit, struct memgroup *ret, struct message *reason);

/* Bytes that the caller's own group and its parents leave; UINT64_MAX where none has a limit. */
uint64_t memgroup_room(void);

/* Moves the calling process in. */
int memgroup_enter(const struct memgroup *group);

/* How many processes were killed in it for want of memory. */
uint64_t memgroup_kills(const struct memgroup *group);

/* How many page faults in it had to read from a disk. */
uint64_t memgroup_major_faults(const struct memgroup *group);

/* Kills all in it (v2; in v1 the reaper has to) and removes it. Harmless when there is none. */
void memgroup_deinit(struct memgroup *group);
