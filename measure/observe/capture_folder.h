/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of a capture: which may be used, and the files in it. */
#pragma once

#include "capture.h"

/*
 * Opens the folder that a capture shall be written to. Returns a descriptor, or -errno: -ENOENT,
 * -ENOTDIR, -ELOOP (a symbolic link: who made it could lead root anywhere), -EEXIST (it holds a
 * capture already), -EACCES or -EROFS.
 */
int capture_folder_open(const char *path);

/*
 * Writes the records there are, then capture.json. Nothing is overwritten. Returns 0, or -errno;
 * then nothing of it is left.
 */
int capture_folder_write(const struct capture *capture, const struct detectors *detectors,
			 const struct clock_source *clock);
