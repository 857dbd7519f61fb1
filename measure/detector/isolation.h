/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Task isolation by prctl(), which no mainline kernel has. Kernels with the patches of Metcalf and
 * Belits show it in /sys/devices/system/cpu/task_isolation; only then does the number mean that.
 */
#pragma once

#include <stdbool.h>

/* root: "" for this machine, else a folder laid out like its root. */
bool isolation_offered(const char *root);

/*
 * Asks for it for the calling thread, which must be pinned, without a signal when it is broken, or
 * gives it up. Returns 0 or -errno.
 */
int isolation_enter(void);
void isolation_leave(void);
