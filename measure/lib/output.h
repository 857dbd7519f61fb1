/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Result files: known to be writable before the run, whole or absent after it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct output {
	/* NULL: none wanted. "-": standard output. */
	const char *path;
	/* Beside it, until output_commit() renames it; NULL where it is written in place. */
	char *temporary;
	FILE *file;
};

/* The descriptor of ours that /dev/stdout, /dev/fd/N and the like stand for, else -1. */
int output_descriptor(const char *path);

/* Whether both names are of one file, there or not yet. */
bool output_same(const char *one, const char *other);

/* Tries whether it can be written; leaves nothing behind. */
int output_check(const char *path);

/* Character devices, pipes and descriptors of ours are written in place, links to them refused. */
int output_open(const char *path, struct output *ret);

/*
 * Writes all to disk and renames; the file is closed in either case. written: 0, or the -errno of
 * who wrote it; then what had the name before keeps it.
 */
int output_commit(struct output *output, int written);
