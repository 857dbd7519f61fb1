/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that are bounded in time and never outlive the harness.
 *
 * Each runs below a reaper, a process that adopts whatever the program leaves behind. The reaper
 * ends all of it on request, at the time limit, and when the harness is gone for any reason,
 * SIGKILL included: the pipe between them closes then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpulist.h"
#include "memgroup.h"
#include "scratch.h"

struct child {
	/* The reaper; 0 if none. */
	pid_t reaper;
	/* Carries orders to the reaper, and its reports. */
	int fd;
	bool ended;
	/* It had to be killed, at its time limit or after its grace period. */
	bool late;
	/* The program's status, as from waitpid(); valid once ended. */
	int status;
	/* Its output, and the file that it wrote; read by child_wait(). NULL: none. */
	char *output, *file;
	/* Output or file is longer than CHILD_TEXT_MAX. */
	bool truncated;
	char *output_path, *file_path;
};

struct child_options {
	/* NULL-terminated; [0] is looked up in PATH. */
	char *const *argv;
	/* The CPUs where it may run; empty: those of the caller. */
	const struct cpulist *cpus;
	/* Whether it may not change its CPUs. */
	bool confined;
	/* Names in the scratch folder, where it works: of its output, and of its file (or NULL). */
	const char *output, *file;
	/*
	 * Both are removed by the reaper when the harness is gone; another folder of the run is
	 * removed by the next run. NULL: no group.
	 */
	const struct scratch *scratch;
	const struct memgroup *group;
	uint64_t limit_ns;
	/* Limit of each file that it writes, in bytes; 0: CHILD_FILE_MAX. */
	uint64_t file_limit;
};

/* A program that writes more is ended by SIGXFSZ. */
#define CHILD_FILE_MAX ((uint64_t)64 << 20)

/* Limit of the text kept of one file. */
#define CHILD_TEXT_MAX ((size_t)4 << 20)

/* Starts a program. Returns 0, or -errno, including that of exec (-ENOENT: not installed). */
int child_start(const struct child_options *options, struct child *ret);

/* Whether it has ended; does not wait. */
bool child_ended(struct child *child);

/* Asks it to finish (SIGINT); what is left after the grace period is killed. Returns at once. */
void child_finish(struct child *child, uint64_t grace_ns);

/* Waits until all of it is gone: at most the grace period or, before child_finish(), its limit. */
void child_wait(struct child *child);

/* Kills all of it, waits, and frees its output. Harmless if it has ended already. */
void child_deinit(struct child *child);

/* Runs a program for its help or version, at most 20 s. ret: output to be freed, or NULL. */
int child_ask(char *const argv[], const struct scratch *scratch, char **ret);

/* The status as in a shell: exit code, or 128 + signal. */
int child_exit_code(const struct child *child);
