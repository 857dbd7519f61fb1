/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where control groups with a memory controller are, and their files; see cgroups(7). */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* Where a hierarchy with a memory controller is mounted, and the caller's own group in it. */
struct cgroup_hierarchy {
	/* 1 or 2. */
	int version;
	char mount[PATH_MAX];
	/* Equal to the mount at the top. */
	char own[PATH_MAX];
};

/* As it is told below `root` ("": the live system). Returns 0, or -ENOENT where none is mounted. */
int cgroup_find_memory(const char *root, struct cgroup_hierarchy *ret);

/* Whether groups made in this one have a memory controller (v2). */
bool cgroup_hands_memory_on(const char *path);

/* Cuts the last part off the path of a group. Returns false at the top. */
bool cgroup_go_up(const struct cgroup_hierarchy *hierarchy, char *path);

int cgroup_write(const char *folder, const char *name, const char *text);
