/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result files: known to be writable before the run, whole or absent after it. */
#ifndef LOWLAT_OUTPUT_H
#define LOWLAT_OUTPUT_H

#include <stdio.h>

struct output {
	/* NULL: none wanted. "-": standard output. */
	const char *path;
	/* Beside it, until output_commit() renames it; NULL where it is written in place. */
	char *temporary;
	FILE *file;
};

/* Tries to write a file beside `path`. Returns 0 or -errno; leaves nothing behind. */
int output_check(const char *path);

/*
 * Opens it. A path that is there and no regular file (a device, a pipe) is written in place.
 *
 * Returns 0 or -errno.
 */
int output_open(const char *path, struct output *ret);

/* Writes all to disk and renames. Returns 0 or -errno; the file is closed in either case. */
int output_commit(struct output *output);

#endif
