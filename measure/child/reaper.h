/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process between the harness and one of its programs; see child.h. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "child.h"

/* Its reports: first the error of exec (errno, or 0), then the program's status. */
struct reaper_report {
	int error;
	int status;
	bool late;
};

/*
 * Runs the program to its end, in a process that the harness forked for it.
 *
 * fd: a socket, which closes with the harness. Each order read from it is a grace period in ns; two
 * reaper_report are written to it.
 */
_Noreturn void reaper_main(const struct child_options *options, pid_t harness, int fd);
