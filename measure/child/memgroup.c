/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memgroup.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroup.h"
#include "cleanup.h"

#define NAME "lowlat-measure."
#define REMOVE_TRIES 500

/* By the version of the hierarchy. What v1 calls swap is memory and swap together. */
static const struct {
	const char *limit, *swap, *used, *events;
} files[] = {
	[1] = { "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.usage_in_bytes",
		"memory.oom_control" },
	[2] = { "memory.max", "memory.swap.max", "memory.current", "memory.events" },
};

/* A group with processes in it can't hand memory on (cgroup-v2.rst), so it is one above or none. */
static bool find_open(const struct cgroup_hierarchy *hierarchy, char *path)
{
	strcpy(path, hierarchy->own);
	if (hierarchy->version == 1)
		return true;
	do {
		if (cgroup_hands_memory_on(path))
			return true;
	} while (cgroup_go_up(hierarchy, path));
	return false;
}

/* Those of harnesses that are gone, killed together with their reapers. */
static void remove_stale(const char *parent)
{
	_cleanup_closedir_ DIR *folder = opendir(parent);

	for (const char *name; (name = next_name(folder));) {
		char path[PATH_MAX + 300];
		pid_t pid;

		if (strncmp(name, NAME, strlen(NAME)))
			continue;
		pid = (pid_t)strtol(name + strlen(NAME), NULL, 10);
		if (pid <= 1 || !kill(pid, 0) || errno != ESRCH)
			continue;
		snprintf(path, sizeof(path), "%s/%s", parent, name);
		rmdir(path);
	}
}

/* A kernel without swap accounting lacks the second file, and then counts no swap. */
static int set_limit(struct memgroup *group)
{
	char limit[32];
	int err;

	snprintf(limit, sizeof(limit), "%" PRIu64, group->limit);
	err = cgroup_write(group->path, files[group->version].limit, limit);
	if (err)
		return err;
	err = cgroup_write(group->path, files[group->version].swap,
			   group->version == 2 ? "0" : limit);
	return err == -ENOENT ? 0 : err;
}

static int make_in(const char *parent, struct memgroup *ret)
{
	int err;

	remove_stale(parent);
	if ((size_t)snprintf(ret->path, sizeof(ret->path), "%.*s/" NAME "%d", PATH_MAX - 64, parent,
			     getpid()) >= sizeof(ret->path))
		return -ENAMETOOLONG;
	if (mkdir(ret->path, 0755))
		err = -errno;
	else
		err = set_limit(ret);
	if (err)
		memgroup_deinit(ret);
	return err;
}

int memgroup_find_parent(const char *root, char parent[PATH_MAX], struct message *reason)
{
	struct cgroup_hierarchy hierarchy = { 0 };

	if (cgroup_find_memory(root, &hierarchy)) {
		message_set(reason, "no cgroup hierarchy with a memory controller is mounted");
		return -ENOENT;
	}
	if (!find_open(&hierarchy, parent)) {
		message_set(reason, "%.300s does not hand the memory controller on (cgroup v2)",
			    hierarchy.mount);
		return -EOPNOTSUPP;
	}
	return hierarchy.version;
}

int memgroup_init(uint64_t limit, struct memgroup *ret, struct message *reason)
{
	char parent[PATH_MAX];
	int err = memgroup_find_parent("", parent, reason);

	*ret = (struct memgroup){ .limit = limit };
	if (err < 0)
		return err;
	ret->version = err;
	err = make_in(parent, ret);
	if (err) {
		message_set(reason, "no memory cgroup can be made in %.300s (cgroup v%d, %s)",
			    parent, ret->version, strerror(-err));
		ret->version = 0;
	}
	return err;
}

static uint64_t room_in(const char *path, int version)
{
	int64_t limit, used = 0;

	if (!text_read_number(&limit, "%s/%s", path, files[version].limit))
		return UINT64_MAX;
	text_read_number(&used, "%s/%s", path, files[version].used);
	return limit > used ? (uint64_t)(limit - used) : 0;
}

uint64_t memgroup_room(void)
{
	struct cgroup_hierarchy hierarchy = { 0 };
	uint64_t least = UINT64_MAX;
	char path[PATH_MAX];

	if (cgroup_find_memory("", &hierarchy))
		return least;
	strcpy(path, hierarchy.own);
	do {
		const uint64_t room = room_in(path, hierarchy.version);

		least = room < least ? room : least;
	} while (cgroup_go_up(&hierarchy, path));
	return least;
}

int memgroup_enter(const struct memgroup *group)
{
	return cgroup_write(group->path, "cgroup.procs", "0");
}

/* "oom_kill N" in a file of several such lines (cgroup-v2.rst: memory.events). */
uint64_t memgroup_kills(const struct memgroup *group)
{
	_cleanup_free_ char *text = NULL;

	if (!group->path[0])
		return 0;
	text = text_read_trimmed("%s/%s", group->path, files[group->version].events);
	return text_count_after(text, "oom_kill ");
}

void memgroup_deinit(struct memgroup *group)
{
	if (!group->path[0])
		return;
	if (group->version == 2)
		cgroup_write(group->path, "cgroup.kill", "1");
	/* The kernel needs a moment to see the last of them off. */
	for (int tries = 0; tries < REMOVE_TRIES && rmdir(group->path) && errno == EBUSY; tries++)
		usleep(10000);
	group->path[0] = '\0';
}
