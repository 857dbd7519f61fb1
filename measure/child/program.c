/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel's limit on links in a path. */
#define LINKS_MAX 40

/* Replaces the link that ends at path[end] by its target. Returns whether that fits. */
static bool follow(char path[static PATH_MAX], const char *link, size_t end)
{
	char target[PATH_MAX], whole[3 * PATH_MAX];
	const ssize_t length = readlink(link, target, sizeof(target) - 1);
	const char *name = strrchr(link, '/');

	if (length <= 0)
		return false;
	target[length] = '\0';
	snprintf(whole, sizeof(whole), "%.*s/%s%s", target[0] == '/' ? 0 : (int)(name - link), link,
		 target, path + end);
	return snprintf(path, PATH_MAX, "%s", whole) < PATH_MAX;
}

bool program_held(const char *path)
{
	char walked[PATH_MAX], part[PATH_MAX];
	struct stat status;
	size_t end = 1;
	int links = 0;
	bool shared;

	if (path[0] != '/' || snprintf(walked, sizeof(walked), "%s", path) >= PATH_MAX)
		return false;
	do {
		snprintf(part, sizeof(part), "%.*s", (int)end, walked);
		if (lstat(part, &status) || status.st_uid != 0)
			return false;
		if (S_ISLNK(status.st_mode)) {
			if (++links > LINKS_MAX || !follow(walked, part, end))
				return false;
			end = 1;
			continue;
		}
		shared = status.st_mode & (S_IWGRP | S_IWOTH);
		if (shared && (!walked[end] || !(status.st_mode & S_ISVTX)))
			return false;
		if (!walked[end])
			return true;
		end += strspn(walked + end, "/");
		end += strcspn(walked + end, "/");
	} while (true);
}

int program_find(const char *name, const char *folders, char ret[PATH_MAX])
{
	int err = -ENOENT;

	if (strchr(name, '/')) {
		if (snprintf(ret, PATH_MAX, "%s", name) >= PATH_MAX)
			return -ENAMETOOLONG;
		return geteuid() == 0 && !program_held(ret) ? -EACCES : 0;
	}
	for (const char *folder = folders ? folders : "/bin:/usr/bin"; folder;
	     folder = strchr(folder, ':')) {
		int length;

		folder += *folder == ':';
		length = (int)strcspn(folder, ":");
		if (snprintf(ret, PATH_MAX, "%.*s/%s", length, length ? folder : ".", name) >=
			    PATH_MAX ||
		    access(ret, X_OK))
			continue;
		if (geteuid() != 0 || program_held(ret))
			return 0;
		err = -EACCES;
	}
	return err;
}
