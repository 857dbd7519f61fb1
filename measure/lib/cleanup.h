/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scope guards: a function's resources are released on every way out of it. */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Keeps a descriptor open beyond the end of the function. */
static inline int steal_fd(int *fd)
{
	const int kept = *fd;

	*fd = -1;
	return kept;
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline void cleanup_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* The next name in a folder; NULL after the last one, or if the folder could not be opened. */
static inline const char *next_name(DIR *folder)
{
	const struct dirent *entry = folder ? readdir(folder) : NULL;

	return entry ? entry->d_name : NULL;
}

#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)
#define _cleanup_closedir_ _cleanup_(cleanup_closedir)
