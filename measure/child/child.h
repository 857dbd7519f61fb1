/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that are bounded in time and never outlive the harness.
 *
 * Each runs below a reaper, a process that adopts whatever the program leaves behind. The reaper
 * ends all of it when told to, when time is up, and when the harness is gone for any reason,
 * SIGKILL included: the pipe between them then ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cpulist.h"
#include "memgroup.h"
#include "scratch.h"

struct child {
	/* The reaper; 0: none. */
	pid_t reaper;
	/* To and from it: orders, and reports. */
	int fd;
	bool ended;
	/* It had to be killed, at its time limit or after its grace. */
	bool late;
	/* As of waitpid(), of the program; valid once ended. */
	int status;
	/* What it printed, and the file that it wrote: taken by child_wait(); NULL: nothing. */
	char *output, *file;
	/* There was more of it than CHILD_TEXT_MAX. */
	bool truncated;
	char *output_path, *file_path;
};

struct child_options {
	/* NULL-terminated; [0] is looked up in PATH. */
	char *const *argv;
	/* Where it may run; empty: where the caller may. */
	const struct cpulist *cpus;
	/* Whether it may not choose other CPUs itself. */
	bool confined;
	/* In the scratch folder, where it works: what it prints goes to the one; NULL: no other. */
	const char *output, *file;
	/*
	 * Both are removed by the reaper when the harness is gone; another folder of the run goes
	 * with the next run's. NULL: no group.
	 */
	const struct scratch *scratch;
	const struct memgroup *group;
	uint64_t limit_ns;
	/* Bytes of the largest file it may write; 0: CHILD_FILE_MAX. */
	uint64_t file_limit;
};

/* A program that writes more is ended by SIGXFSZ. */
#define CHILD_FILE_MAX ((uint64_t)64 << 20)

/* What is kept of one file. */
#define CHILD_TEXT_MAX ((size_t)4 << 20)

/* Starts a program. Returns 0, or -errno also of the exec (-ENOENT: not installed). */
int child_start(const struct child_options *options, struct child *ret);

/* Looks whether it has ended, without waiting. */
bool child_ended(struct child *child);

/* Asks it to finish (SIGINT); what is left after the grace is killed. Returns at once. */
void child_finish(struct child *child, uint64_t grace_ns);

/* Waits until all of it is gone. At most the grace after child_finish(), else its time limit. */
void child_wait(struct child *child);

/* Kills all of it, waits, and frees what it wrote. Harmless when it has ended already. */
void child_deinit(struct child *child);

/* Runs one that tells of itself, for 20 s at most. ret: what, for the caller to free; or NULL. */
int child_ask(char *const argv[], const struct scratch *scratch, char **ret);

/* The status as a shell gives it: exit code, or 128 + signal. */
int child_exit_code(const struct child *child);
