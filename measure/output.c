/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool in_place(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int open_beside(const char *path, char **ret)
{
	char *name;
	int fd, err;

	if (is_folder(path))
		return -EISDIR;
	if (asprintf(&name, "%s.XXXXXX", path) < 0)
		return -ENOMEM;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
		free(name);
		return err;
	}
	*ret = name;
	return fd;
}

int output_check(const char *path)
{
	char *name;
	int fd;

	if (strcmp(path, "-") == 0)
		return 0;
	if (in_place(path))
		return access(path, W_OK) ? -errno : 0;
	fd = open_beside(path, &name);
	if (fd < 0)
		return fd;
	close(fd);
	unlink(name);
	free(name);
	return 0;
}

int output_open(const char *path, struct output *ret)
{
	int fd;

	*ret = (struct output){ .path = path };
	if (strcmp(path, "-") == 0) {
		ret->file = stdout;
		return 0;
	}
	fd = in_place(path) ? open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK) :
			      open_beside(path, &ret->temporary);
	if (fd < 0)
		return ret->temporary || in_place(path) ? -errno : fd;
	ret->file = fdopen(fd, "w");
	if (ret->file)
		return 0;
	close(fd);
	return -ENOMEM;
}

static int finish(struct output *output)
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
	output->file = NULL;
	return err;
}

int output_commit(struct output *output)
{
	int err = finish(output);

	if (!output->temporary)
		return err;
	if (!err && rename(output->temporary, output->path))
		err = -errno;
	if (err)
		unlink(output->temporary);
	free(output->temporary);
	output->temporary = NULL;
	return err;
}
