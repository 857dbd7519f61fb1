/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder laid out like a machine's root, for what reads below one. */
#pragma once

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREE_PATH 64

static inline void tree_make(char root[TREE_PATH])
{
	const char *folder = getenv("TMPDIR");

	snprintf(root, TREE_PATH, "%.40s/lowlat-test-XXXXXX", folder ? folder : "/tmp");
	if (!mkdtemp(root))
		abort();
}

/* Writes a file below root with the folders above it. */
static inline void tree_put(const char *root, const char *path, const void *data, size_t size)
{
	char full[256];
	int file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0755);
		*slash = '/';
	}
	file = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file < 0 || write(file, data, size) != (ssize_t)size)
		abort();
	close(file);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
				  struct FTW *walk)
{
	(void)st;
	(void)type;
	(void)walk;
	return remove(path);
}

static inline void tree_remove(const char *root)
{
	nftw(root, tree_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
