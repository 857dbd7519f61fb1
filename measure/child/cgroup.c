/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "text.h"

int cgroup_write(const char *folder, const char *name, const char *text)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return text_write(AT_FDCWD, path, text);
}

/* Whether one of the words, parted by any of the separators, is `word`. */
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

static bool has_memory(const char *root, const struct mntent *mount, struct cgroup_hierarchy *ret)
{
	_cleanup_free_ char *controllers = NULL;

	snprintf(ret->mount, sizeof(ret->mount), "%s%s", root, mount->mnt_dir);
	ret->version = strcmp(mount->mnt_type, "cgroup2") == 0 ? 2 : 1;
	if (ret->version == 1)
		return strcmp(mount->mnt_type, "cgroup") == 0 && hasmntopt(mount, "memory");
	controllers = text_read_trimmed("%s/cgroup.controllers", ret->mount);
	return has_word(controllers, " ", "memory");
}

/* In a namespace the path may lead elsewhere than here; then the top has to do. */
static void set_own(struct cgroup_hierarchy *hierarchy, const char *path)
{
	struct stat status;

	if ((size_t)snprintf(hierarchy->own, sizeof(hierarchy->own), "%s%s", hierarchy->mount,
			     path) >= sizeof(hierarchy->own) ||
	    stat(hierarchy->own, &status))
		strcpy(hierarchy->own, hierarchy->mount);
}

/* "N:CONTROLLERS:PATH" of proc_pid_cgroup(5), where v2 is "0::PATH". */
static void find_own(const char *root, struct cgroup_hierarchy *hierarchy)
{
	_cleanup_free_ char *text = text_read_trimmed("%s/proc/self/cgroup", root);
	char *next = text;

	strcpy(hierarchy->own, hierarchy->mount);
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

int cgroup_find_memory(const char *root, struct cgroup_hierarchy *ret)
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

bool cgroup_go_up(const struct cgroup_hierarchy *hierarchy, char *path)
{
	char *slash = strrchr(path, '/');

	if (strlen(path) <= strlen(hierarchy->mount) || !slash)
		return false;
	*slash = '\0';
	return true;
}

bool cgroup_hands_memory_on(const char *path)
{
	_cleanup_free_ char *handed = text_read_trimmed("%s/cgroup.subtree_control", path);

	return has_word(handed, " ", "memory");
}
