/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "text.h"
#include "units.h"
#include "xalloc.h"

int output_descriptor(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	uint64_t number;

	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		const size_t length = strlen(folders[i]);

		if (!strncmp(path, folders[i], length) && !parse_u64(path + length, &number) &&
		    number <= INT_MAX)
			return (int)number;
	}
	return -1;
}

/* Returns the name in its folder and the folder's status; NULL if the folder does not exist. */
static const char *locate(const char *path, struct stat *folder)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *name = slash ? text_format("%.*s", (int)(slash - path) + 1, path) :
					    text_format(".");

	if (stat(name, folder))
		return NULL;
	return slash ? slash + 1 : path;
}

bool output_same(const char *one, const char *other)
{
	struct stat first, second;
	const char *name, *other_name;

	if (stat(one, &first) == 0 && stat(other, &second) == 0)
		return first.st_dev == second.st_dev && first.st_ino == second.st_ino;
	name = locate(one, &first);
	other_name = locate(other, &second);
	return name && other_name && strcmp(name, other_name) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static bool in_place(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/*
 * Character devices and pipes, not disks, and never through a symbolic link: a user who can write
 * the folder could redirect root's output. Opens without waiting for a reader; writes wait for it.
 */
static int open_in_place(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) || fcntl(fd, F_SETFL, 0))
		return -errno;
	return S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode) ? steal_fd(&fd) : -EINVAL;
}

static int open_beside(const char *path, char **ret)
{
	struct stat status;
	int fd;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return -EISDIR;
	*ret = text_format("%s.XXXXXX", path);
	fd = mkostemp(*ret, O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fd = -errno;
	free(*ret);
	*ret = NULL;
	return fd;
}

/* Without opening the file: opening and closing it would end a reader of the pipe. */
static int check_in_place(const char *path)
{
	struct stat status;

	if (lstat(path, &status) || access(path, W_OK))
		return -errno;
	if (S_ISLNK(status.st_mode))
		return -ELOOP;
	return S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode) ? 0 : -EINVAL;
}

static int check_descriptor(int descriptor)
{
	const int flags = fcntl(descriptor, F_GETFL);

	if (flags < 0)
		return -errno;
	return (flags & O_ACCMODE) == O_RDONLY ? -EBADF : 0;
}

int output_check(const char *path)
{
	_cleanup_free_ char *name = NULL;
	int fd;

	if (strcmp(path, "-") == 0)
		return 0;
	fd = output_descriptor(path);
	if (fd >= 0)
		return check_descriptor(fd);
	if (in_place(path))
		return check_in_place(path);
	fd = open_beside(path, &name);
	if (fd < 0)
		return fd;
	close(fd);
	unlink(name);
	return 0;
}

int output_open(const char *path, struct output *ret)
{
	const int descriptor = output_descriptor(path);
	int fd;

	*ret = (struct output){ .path = path };
	if (strcmp(path, "-") == 0) {
		ret->file = stdout;
		return 0;
	}
	/* The duplicate shares the file position with the process that passed the descriptor on. */
	if (descriptor >= 0)
		fd = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
	else
		fd = in_place(path) ? open_in_place(path) : open_beside(path, &ret->temporary);
	if (fd < 0)
		return descriptor >= 0 ? -errno : fd;
	ret->file = xalloc_check(fdopen(fd, "w"));
	return 0;
}

int output_commit(struct output *output, int written)
{
	const mode_t mask = umask(0);
	int err = 0;

	umask(mask);
	if (ferror(output->file) || fflush(output->file))
		err = errno ? -errno : -EIO;
	if (!err && output->temporary &&
	    (fchmod(fileno(output->file), 0666 & ~mask) || fsync(fileno(output->file))))
		err = -errno;
	if (output->file != stdout && fclose(output->file) && !err)
		err = -errno;
	err = err ? err : written;
	if (!err && output->temporary && rename(output->temporary, output->path))
		err = -errno;
	if (err && output->temporary)
		unlink(output->temporary);
	free(output->temporary);
	*output = (struct output){ 0 };
	return err;
}
