/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The phases of a run, told to the descriptor of --phases: each as a line when it begins. Who reads
 * them started the run, which ends when the reader is gone, killed or not.
 */
#pragma once

#include <stdbool.h>

/* Keeps the descriptor from other programs. Returns 0; -EBADF: it is not open for writing. */
int phases_open(int fd);

/* SIGIO comes when the reader goes away, and may come when it reads. fd: -1 for none. */
void phases_watch(int fd);
bool phases_unread(int fd);

/* Never waits: a line is dropped if its reader is slow or gone. fd: -1 for none. */
void phases_tell(int fd, const char *phase);
