/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result files: checked to be writable before the run, complete or absent after it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct output {
	/* NULL: none wanted. "-": standard output. */
	const char *path;
	/* The temporary file, until output_commit() renames it; NULL if written in place. */
	char *temporary;
	FILE *file;
};

/* The inherited descriptor that /dev/stdout, /dev/fd/N and the like stand for, else -1. */
int output_descriptor(const char *path);

/* Whether both names are of one file, existing or not. */
bool output_same(const char *one, const char *other);

/* Checks that the path can be written; leaves nothing behind. */
int output_check(const char *path);

/* Writes devices, pipes and inherited descriptors in place; refuses symbolic links to them. */
int output_open(const char *path, struct output *ret);

/*
 * Syncs and renames the file, and closes it in any case. written: 0, or the -errno of the writer;
 * on an error an existing file stays as it was.
 */
int output_commit(struct output *output, int written);
