/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mntent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "text.h"
#include "units.h"

#define NAME "lowlat-measure."
#define REMOVE_TRIES 500

/* By the version of the hierarchy. v1's "swap" limits memory and swap together. */
static const struct {
	const char *limit, *swap, *used, *events;
} files[] = {
	[1] = { "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.usage_in_bytes",
		"memory.oom_control" },
	[2] = { "memory.max", "memory.swap.max", "memory.current", "memory.events" },
};

/* The mount of a hierarchy with a memory controller, and a group in it. */
struct hierarchy {
	/* 1 or 2. */
	int version;
	char mount[PATH_MAX];
	/* First the caller's own; the mount itself is the top group. */
	char group[PATH_MAX];
};

static int cgroup_write(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return text_write(AT_FDCWD, path, text);
}

/* Whether one of the words, divided by any of the separators, is `word`. */
static bool has_word(const char *text, const char *separators, const char *word)
{
	const size_t length = strlen(word);

	for (const char *c = text; c && *c;) {
		const size_t one = strcspn(c, separators);

		if (one == length && !strncmp(c, word, length))
			return true;
		c += one;
		c += strspn(c, separators);
	}
	return false;
}

static bool has_memory(const char *root, const struct mntent *mount, struct hierarchy *ret)
{
	_cleanup_free_ char *controllers = NULL;

	snprintf(ret->mount, sizeof(ret->mount), "%s%s", root, mount->mnt_dir);
	ret->version = strcmp(mount->mnt_type, "cgroup2") == 0 ? 2 : 1;
	if (ret->version == 1)
		return strcmp(mount->mnt_type, "cgroup") == 0 && hasmntopt(mount, "memory");
	controllers = text_read_trimmed("%s/cgroup.controllers", ret->mount);
	return has_word(controllers, " ", "memory");
}

/* In a namespace the path may not exist here; the top group is used then. */
static void set_own(struct hierarchy *hierarchy, const char *path)
{
	if ((size_t)snprintf(hierarchy->group, sizeof(hierarchy->group), "%s%s", hierarchy->mount,
			     path) >= sizeof(hierarchy->group) ||
	    access(hierarchy->group, F_OK))
		strcpy(hierarchy->group, hierarchy->mount);
}

/* "N:CONTROLLERS:PATH" of proc_pid_cgroup(5), where v2 is "0::PATH". */
static void find_own(const char *root, struct hierarchy *hierarchy)
{
	_cleanup_free_ char *text = text_read_trimmed("%s/proc/self/cgroup", root);
	char *next = text;

	strcpy(hierarchy->group, hierarchy->mount);
	for (char *line; (line = strsep(&next, "\n"));) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path || strcmp(path + 1, "/") == 0)
			continue;
		*path = '\0';
		if (hierarchy->version == 2 ? controllers[1] == '\0' :
					      has_word(controllers + 1, ",", "memory"))
			set_own(hierarchy, path + 1);
	}
}

/* Returns 0, or -ENOENT if none is mounted. */
static int find_memory(const char *root, struct hierarchy *ret)
{
	_cleanup_free_ char *path = text_format("%s/proc/self/mounts", root);
	FILE *mounts = setmntent(path, "re");
	const struct mntent *mount = NULL;

	while (mounts && (mount = getmntent(mounts)) && !has_memory(root, mount, ret))
		;
	if (mounts)
		endmntent(mounts);
	if (mount)
		find_own(root, ret);
	return mount ? 0 : -ENOENT;
}

/* Goes to the group's parent. Returns false at the top. */
static bool go_up(struct hierarchy *hierarchy)
{
	if (strlen(hierarchy->group) <= strlen(hierarchy->mount))
		return false;
	*strrchr(hierarchy->group, '/') = '\0';
	return true;
}

static bool hands_memory_on(const char *path)
{
	_cleanup_free_ char *handed = text_read_trimmed("%s/cgroup.subtree_control", path);

	return has_word(handed, " ", "memory");
}

/* Removes the groups of harnesses that were killed together with their reapers. */
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

/* A kernel without swap accounting lacks the second file; it counts no swap. */
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

int memgroup_find_parent(const char *root, char parent[PATH_MAX], char why[MEMGROUP_WHY_MAX])
{
	struct hierarchy hierarchy = { 0 };

	if (find_memory(root, &hierarchy)) {
		snprintf(why, MEMGROUP_WHY_MAX,
			 "no cgroup hierarchy with a memory controller is mounted");
		return -ENOENT;
	}
	/* In v2 a group with processes can't have it (cgroup-v2.rst): try its parents. */
	while (hierarchy.version == 2 && !hands_memory_on(hierarchy.group)) {
		if (go_up(&hierarchy))
			continue;
		snprintf(why, MEMGROUP_WHY_MAX,
			 "%.300s does not hand the memory controller on (cgroup v2)",
			 hierarchy.mount);
		return -EOPNOTSUPP;
	}
	strcpy(parent, hierarchy.group);
	return hierarchy.version;
}

int memgroup_init(uint64_t limit, struct memgroup *ret, char why[MEMGROUP_WHY_MAX])
{
	char parent[PATH_MAX];
	const int version = memgroup_find_parent("", parent, why);
	int err;

	*ret = (struct memgroup){ .limit = limit };
	if (version < 0)
		return version;
	remove_stale(parent);
	ret->version = version;
	snprintf(ret->path, sizeof(ret->path), "%.*s/" NAME "%d", PATH_MAX - 64, parent, getpid());
	err = mkdir(ret->path, 0755) ? -errno : set_limit(ret);
	if (err) {
		snprintf(why, MEMGROUP_WHY_MAX,
			 "no memory cgroup can be made in %.300s (cgroup v%d, %s)", parent, version,
			 strerror(-err));
		memgroup_deinit(ret);
		ret->version = 0;
	}
	return err;
}

static uint64_t room_in(const struct hierarchy *hierarchy)
{
	int64_t limit, used = 0;

	if (!text_read_number(&limit, "%s/%s", hierarchy->group, files[hierarchy->version].limit))
		return UINT64_MAX;
	text_read_number(&used, "%s/%s", hierarchy->group, files[hierarchy->version].used);
	return limit > used ? (uint64_t)(limit - used) : 0;
}

uint64_t memgroup_room(void)
{
	struct hierarchy hierarchy = { 0 };
	uint64_t room = UINT64_MAX;

	if (find_memory("", &hierarchy))
		return room;
	do {
		room = least(room, room_in(&hierarchy));
	} while (go_up(&hierarchy));
	return room;
}

int memgroup_enter(const struct memgroup *group)
{
	return cgroup_write(group->path, "cgroup.procs", "0");
}

/* Reads a file of lines "NAME COUNT" (cgroup-v2.rst: memory.events, memory.stat). */
static uint64_t count(const struct memgroup *group, const char *file, const char *mark)
{
	_cleanup_free_ char *text = NULL;

	if (!group->path[0])
		return 0;
	text = text_read_trimmed("%s/%s", group->path, file);
	return text_count_after(text, mark);
}

uint64_t memgroup_kills(const struct memgroup *group)
{
	return count(group, files[group->version].events, "oom_kill ");
}

uint64_t memgroup_major_faults(const struct memgroup *group)
{
	return count(group, "memory.stat", "pgmajfault ");
}

void memgroup_deinit(struct memgroup *group)
{
	if (!group->path[0])
		return;
	if (group->version == 2)
		cgroup_write(group->path, "cgroup.kill", "1");
	/* The kernel needs a moment to remove the last processes. */
	for (int tries = 0; tries < REMOVE_TRIES && rmdir(group->path) && errno == EBUSY; tries++)
		usleep(10000);
	group->path[0] = '\0';
}
