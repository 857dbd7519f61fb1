/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scratch.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>

#include <linux/magic.h>

static int make_below(const char *base, struct scratch *ret)
{
	const int length = snprintf(ret->path, sizeof(ret->path), "%s/lowlat-measure-XXXXXX", base);
	int err = 0;

	if (length < 0 || (size_t)length >= sizeof(ret->path))
		err = -ENAMETOOLONG;
	else if (!mkdtemp(ret->path))
		err = -errno;
	if (err)
		ret->path[0] = '\0';
	return err;
}

int scratch_init(struct scratch *ret)
{
	const char *base = getenv("TMPDIR");

	if (base && *base == '/')
		return make_below(base, ret);
	return make_below("/dev/shm", ret) ? make_below("/tmp", ret) : 0;
}

int scratch_init_on_disk(struct scratch *ret)
{
	const char *base = getenv("TMPDIR");

	return make_below(base && *base == '/' ? base : "/var/tmp", ret);
}

bool scratch_in_memory(const struct scratch *scratch)
{
	struct statfs status;

	if (!scratch->path[0] || statfs(scratch->path, &status))
		return false;
	return (unsigned long)status.f_type == TMPFS_MAGIC ||
	       (unsigned long)status.f_type == RAMFS_MAGIC;
}

uint64_t scratch_room(const struct scratch *scratch)
{
	struct statfs status;

	return statfs(scratch->path, &status) ?
		       0 :
		       (uint64_t)status.f_bavail * (uint64_t)status.f_bsize;
}

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *where)
{
	(void)status;
	(void)flag;
	(void)where;
	remove(path);
	return 0;
}

void scratch_deinit(struct scratch *scratch)
{
	if (scratch->path[0])
		nftw(scratch->path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	scratch->path[0] = '\0';
}
