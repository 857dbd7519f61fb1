/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The phases of a run, told to the descriptor of --phases: each as a line when it begins. */
#pragma once

/* Keeps the descriptor from other programs. Returns 0; -EBADF: it is not open for writing. */
int phases_open(int fd);

/* Never waits: a line is dropped if its reader is slow or gone. fd: -1 for none. */
void phases_tell(int fd, const char *phase);
