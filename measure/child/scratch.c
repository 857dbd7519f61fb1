/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "cleanup.h"

/* A prefix that no user chooses for a folder. */
#define PREFIX ".lowlat-measure-"
#define TRIES 3

static int remove_one(const char *path, const struct stat *status, int flag, struct FTW *where)
{
	(void)status;
	(void)flag;
	(void)where;
	remove(path);
	return 0;
}

static void remove_all(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* Returns a descriptor that locks the folder; -EWOULDBLOCK: locked by another, -ENOENT: removed. */
static int hold(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &status))
		return -errno;
	if (!status.st_nlink)
		return -ENOENT;
	return status.st_uid == geteuid() ? steal_fd(&fd) : -EPERM;
}

/* Removes the folders that killed runs left: no process locks them. */
static void sweep(const char *base)
{
	_cleanup_closedir_ DIR *folder = opendir(base);
	char path[PATH_MAX];

	for (const char *name; (name = next_name(folder));) {
		_cleanup_close_ int held = -1;

		if (strncmp(name, PREFIX, strlen(PREFIX)) ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", base, name) >= sizeof(path))
			continue;
		held = hold(path);
		if (held >= 0)
			remove_all(path);
	}
}

static int make_below(const char *base, struct scratch *ret)
{
	const int length = snprintf(ret->path, sizeof(ret->path), "%s/" PREFIX "XXXXXX", base);
	int err = 0;

	if (length < 0 || (size_t)length >= sizeof(ret->path))
		err = -ENAMETOOLONG;
	else if (!mkdtemp(ret->path))
		err = -errno;
	if (!err)
		ret->held = hold(ret->path);
	if (!err && (ret->held == -EWOULDBLOCK || ret->held == -ENOENT))
		err = -EAGAIN;
	if (err)
		ret->path[0] = '\0';
	return err;
}

/* Before it is locked, another run may take the new folder for abandoned. */
static int init_below(const char *base, struct scratch *ret)
{
	int err = -EAGAIN;

	sweep(base);
	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = make_below(base, ret);
	return err;
}

static const char *tmpdir(void)
{
	const char *base = getenv("TMPDIR");

	return base && *base == '/' ? base : NULL;
}

int scratch_init(struct scratch *ret)
{
	if (tmpdir())
		return init_below(tmpdir(), ret);
	return init_below("/dev/shm", ret) ? init_below("/tmp", ret) : 0;
}

int scratch_init_on_disk(struct scratch *ret)
{
	return init_below(tmpdir() ? tmpdir() : "/var/tmp", ret);
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

void scratch_deinit(struct scratch *scratch)
{
	if (!scratch->path[0])
		return;
	remove_all(scratch->path);
	if (scratch->held >= 0)
		close(scratch->held);
	scratch->path[0] = '\0';
}
