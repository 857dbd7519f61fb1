/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Task isolation by prctl(), which no mainline kernel has. */
enum isolation {
	ISOLATION_NONE,
	/*
	 * PR_TASK_ISOLATION: nothing may interrupt the thread. Kernels with the patches of Metcalf
	 * and Belits have /sys/devices/system/cpu/task_isolation; only there the number means this.
	 */
	ISOLATION_TASK,
	/* PR_ISOL_*, patches of Tosatti, v5 to v13: no deferred work is left by system calls. */
	ISOLATION_QUIESCE,
};

/* root: "" for this machine, else a folder laid out like its root. */
enum isolation isolation_offered(const char *root);

/*
 * For the calling thread, which must be pinned; no signal is sent if isolation is broken. Returns
 * 0, or -errno if the kernel refuses.
 */
int isolation_enter(enum isolation kind);
void isolation_leave(enum isolation kind);
