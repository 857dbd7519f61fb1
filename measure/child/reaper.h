/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process between the harness and a program of its; child.h says what for. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "child.h"

/* What it tells: first why the exec failed (errno, 0: it did not), then how the program ended. */
struct reaper_report {
	int error;
	int status;
	bool late;
};

/*
 * Runs the program to its end, in a process of its own that the harness forked for it.
 *
 * fd: a socket. It gives orders, a grace in ns each, and ends with the harness; it takes two
 * reaper_report.
 */
_Noreturn void reaper_main(const struct child_options *options, pid_t harness, int fd);
