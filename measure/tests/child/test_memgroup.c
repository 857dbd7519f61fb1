/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "memgroup.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"
#include "text.h"

#define V1 "cgroup /cg/memory cgroup rw,memory 0 0\n"
#define V2 "cgroup2 /cg cgroup2 rw,nosuid,nsdelegate 0 0\n"

static char root[PATH_MAX];

/* Makes a file of a synthetic tree, with its folders. */
static void put(const char *name, const char *content)
{
	char path[PATH_MAX + 128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *c = path + strlen(root) + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = '\0';
		mkdir(path, 0755);
		*c = '/';
	}
	file = fopen(path, "w");
	if (!file)
		exit(1);
	fputs(content, file);
	fclose(file);
}

static const char *parent_of(int version, char *why)
{
	static char parent[PATH_MAX];

	if (memgroup_find_parent(root, parent, why) != version)
		return "(another version)";
	return parent + (strlen(parent) > strlen(root) ? strlen(root) : 0);
}

static void test_places(void)
{
	char why[MEMGROUP_WHY_MAX] = "";
	char parent[PATH_MAX];

	put("proc/self/mounts", "");
	ok(memgroup_find_parent(root, parent, why) == -ENOENT, "no hierarchy: %s", why);

	put("proc/self/mounts", V1);
	put("proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/jobs/one\n0::/\n");
	is_text(parent_of(1, why), "/cg/memory", "v1: the top where the own group is not here");
	put("cg/memory/jobs/one/tasks", "");
	is_text(parent_of(1, why), "/cg/memory/jobs/one", "v1: in the caller's own group");

	put("proc/self/mounts", V2);
	put("proc/self/cgroup", "0::/user.slice/session.scope\n");
	put("cg/cgroup.controllers", "cpu io\n");
	ok(memgroup_find_parent(root, parent, why) == -ENOENT, "v2 without memory is no place");
	put("cg/cgroup.controllers", "cpu io memory\n");
	put("cg/cgroup.subtree_control", "cpu\n");
	put("cg/user.slice/cgroup.subtree_control", "cpu\n");
	put("cg/user.slice/session.scope/cgroup.subtree_control", "\n");
	ok(memgroup_find_parent(root, parent, why) == -EOPNOTSUPP, "v2: %s", why);
	put("cg/cgroup.subtree_control", "cpu memory\n");
	is_text(parent_of(2, why), "/cg", "v2: the top, which hands memory on");
	put("cg/user.slice/cgroup.subtree_control", "cpu memory\n");
	is_text(parent_of(2, why), "/cg/user.slice", "v2: beside the own group, as near as can be");
}

/* Whether a child that asks for twice the limit is killed, and this process is not. */
static bool kills(const struct memgroup *group)
{
	const size_t size = 2 * (size_t)group->limit;
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		char *memory = memgroup_enter(group) ? NULL : malloc(size);

		for (size_t i = 0; memory && i < size; i += 4096)
			((volatile char *)memory)[i] = 1;
		_exit(memory ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == 9;
}

static void test_kernel(void)
{
	struct memgroup group;
	char why[MEMGROUP_WHY_MAX];
	struct stat status;
	char path[PATH_MAX];

	ok(memgroup_room() > 0, "there is room");
	if (memgroup_init((uint64_t)16 << 20, &group, why)) {
		ok(!group.path[0], "none is left behind");
		printf("# skipped: %s\n", why);
		return;
	}
	memcpy(path, group.path, sizeof(path));
	ok(kills(&group), "what exceeds the limit is killed (cgroup v%d)", group.version);
	ok(memgroup_kills(&group) >= 1, "and counted");
	memgroup_deinit(&group);
	ok(stat(path, &status) && errno == ENOENT, "the group is gone");
	memgroup_deinit(&group);
}

int main(void)
{
	struct scratch scratch;

	if (scratch_init(&scratch))
		return 1;
	memcpy(root, scratch.path, sizeof(root));
	test_places();
	test_kernel();
	scratch_deinit(&scratch);
	return tap_end();
}
