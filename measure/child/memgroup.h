/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A memory cgroup for the load: a process that runs out of memory in it is killed in it.
 *
 * In cgroup v2 it is a child of the caller's own group or of one of its parents, because a group
 * with processes in it can't delegate memory; in v1 it is a child of the caller's own. Both need
 * root, or a hierarchy that was delegated to the user.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#define MEMGROUP_WHY_MAX 400

struct memgroup {
	/* "" if none. */
	char path[PATH_MAX];
	/* The version of the cgroup hierarchy: 1 or 2. */
	int version;
	uint64_t limit;
};

/*
 * The path of the group in which a new one can be made, read below `root` ("": the live system).
 * Returns the version of the hierarchy, or -errno with the reason, a clause without full stop.
 */
int memgroup_find_parent(const char *root, char parent[PATH_MAX], char why[MEMGROUP_WHY_MAX]);

/*
 * Makes the group, with `limit` bytes of memory and no swap, and removes those that killed
 * harnesses left. Returns 0, or -errno with the reason.
 */
int memgroup_init(uint64_t limit, struct memgroup *ret, char why[MEMGROUP_WHY_MAX]);

/* Bytes left in the caller's own group and its parents; UINT64_MAX if none has a limit. */
uint64_t memgroup_room(void);

/* Moves the calling process into the group. */
int memgroup_enter(const struct memgroup *group);

/* The number of processes that the OOM killer killed in the group. */
uint64_t memgroup_kills(const struct memgroup *group);

/* The number of major page faults in the group. */
uint64_t memgroup_major_faults(const struct memgroup *group);

/* Kills all its processes (in v1 the reaper must) and removes it. Harmless if there is no group. */
void memgroup_deinit(struct memgroup *group);
