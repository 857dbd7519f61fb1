/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a program lies that the harness starts. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/*
 * The first program of this name in `folders`, a list as in PATH (NULL: the usual ones). Under root, those that
 * others can change are passed over. Returns 0, or -errno: -ENOENT if there is none, -EACCES if
 * there is none that may be run.
 */
int program_find(const char *name, const char *folders, char ret[PATH_MAX]);

/*
 * Whether root alone can change the file, each folder above it, and the targets of the links on the
 * way. A sticky folder (/tmp) may lie on the way: others cannot rename root's files in it.
 */
bool program_held(const char *path);
