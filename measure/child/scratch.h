/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A private folder for what the loads write; gone at the end. Who made it holds it locked, and so
 * do the processes forked meanwhile: what nobody holds was left by a run that was killed.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct scratch {
	/* "" where there is none. */
	char path[PATH_MAX];
	/* The descriptor that holds it; negative where its file system has no locks. */
	int held;
};

/*
 * Makes it (mode 0700) below $TMPDIR, else /dev/shm, so that a load writes to memory and no disk
 * interrupts what is measured, else /tmp. What killed runs left there goes first.
 */
int scratch_init(struct scratch *ret);

/* The same where files go to a disk: below $TMPDIR, else /var/tmp. */
int scratch_init_on_disk(struct scratch *ret);

/* Whether it lies in memory (tmpfs, ramfs) after all. */
bool scratch_in_memory(const struct scratch *scratch);

/* Bytes that its file system has left for this user; 0 where it can't be told. */
uint64_t scratch_room(const struct scratch *scratch);

/* Removes it with all it holds, without following links. */
void scratch_deinit(struct scratch *scratch);
