/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A private folder for the loads' files, removed at the end. The run and the processes that it
 * forks hold a lock on it: a folder without a lock was left by a killed run.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct scratch {
	/* "" if there is none. */
	char path[PATH_MAX];
	/* The descriptor with the lock; negative if the file system has no locks. */
	int held;
};

/*
 * Makes the folder (mode 0700) below $TMPDIR, else /dev/shm, so that a load writes to memory and no
 * disk interrupts the measured CPUs, else /tmp. Removes those that killed runs left there.
 */
int scratch_init(struct scratch *ret);

/* The same for files on a disk: below $TMPDIR, else /var/tmp. */
int scratch_init_on_disk(struct scratch *ret);

/* Whether it lies in memory (tmpfs, ramfs) nevertheless. */
bool scratch_in_memory(const struct scratch *scratch);

/* Free bytes in its file system for this user; 0 if unknown. */
uint64_t scratch_room(const struct scratch *scratch);

/* Removes the folder and its contents, without following links. */
void scratch_deinit(struct scratch *scratch);
