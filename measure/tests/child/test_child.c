/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cleanup.h"
#include "text.h"
#include "units.h"

/* Starts a shell script that prints the process it leaves behind; returns that process. */
static pid_t run_script(const char *script, const struct scratch *scratch, bool kill_it,
			struct child *child)
{
	char path[PATH_MAX + 16];
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	const struct child_options options = {
		.argv = argv, .output = "output", .scratch = scratch, .limit_ns = 30 * NS_PER_S
	};
	_cleanup_free_ char *text = NULL;

	snprintf(path, sizeof(path), "%s/output", scratch->path);
	if (child_start(&options, child))
		return -1;
	for (int tries = 0; tries < 500 && (!text || !*text); tries++) {
		free(text);
		usleep(10000);
		text = text_read_trimmed("%s", path);
	}
	if (!kill_it)
		child_wait(child);
	child_deinit(child);
	return text && *text ? (pid_t)strtol(text, NULL, 10) : -1;
}

static bool is_gone(pid_t pid)
{
	return pid > 1 && kill(pid, 0) != 0;
}

static void test_confined(const struct scratch *scratch)
{
	char *argv[] = { "sh", "-c", "exec taskset -p -c 0 $$", NULL };
	const struct child_options options = { .argv = argv,
					       .confined = true,
					       .output = "confined",
					       .scratch = scratch,
					       .limit_ns = 30 * NS_PER_S };
	struct child child;

	if (child_start(&options, &child))
		return;
	child_wait(&child);
	if (child_exit_code(&child) == 127)
		printf("# skipped: no taskset\n");
	else
		ok(child.output && strstr(child.output, "'s affinity: "),
		   "a confined program stays where it is");
	child_deinit(&child);
}

static void test_limits(const struct scratch *scratch)
{
	char *deaf[] = { "sh", "-c", "trap '' INT TERM; while :; do sleep 0.02; done", NULL };
	char *loud[] = { "yes", NULL };
	struct child_options options = {
		.argv = deaf, .output = "limits", .scratch = scratch, .limit_ns = 200 * NS_PER_MS
	};
	struct child child;

	ok(!child_start(&options, &child), "a deaf program");
	child_wait(&child);
	ok(child.late && child_exit_code(&child) == 128 + SIGKILL, "is killed when time is up");
	ok(!child.truncated && !child.output, "and wrote nothing");
	child_deinit(&child);
	options.argv = loud;
	options.limit_ns = 60 * NS_PER_S;
	options.file_limit = CHILD_TEXT_MAX + 1;
	ok(!child_start(&options, &child), "one that never stops writing");
	child_wait(&child);
	ok(!child.late && child_exit_code(&child) == 128 + SIGXFSZ, "is ended by its file");
	ok(child.truncated && child.output && strlen(child.output) == CHILD_TEXT_MAX,
	   "which is cut");
	child_deinit(&child);
}

/* As a harness that a script started in its background. */
static void test_ignored_signal(const struct scratch *scratch)
{
	char path[PATH_MAX + 16];
	char *argv[] = { "sh", "-c", "trap 'exit 3' INT; echo; while :; do sleep 0.02; done",
			 NULL };
	const struct child_options options = {
		.argv = argv, .output = "ignored", .scratch = scratch, .limit_ns = 60 * NS_PER_S
	};
	struct child child;
	struct stat status;

	snprintf(path, sizeof(path), "%s/ignored", scratch->path);
	signal(SIGINT, SIG_IGN);
	ok(!child_start(&options, &child), "a program of a harness that SIGINT does not reach");
	while ((stat(path, &status) || !status.st_size) && !child_ended(&child))
		usleep(10000);
	child_finish(&child, 30 * NS_PER_S);
	child_wait(&child);
	ok(!child.late && child_exit_code(&child) == 3, "finishes when it is told to");
	child_deinit(&child);
	signal(SIGINT, SIG_DFL);
}

static void test_a_stopped_reaper(const struct scratch *scratch)
{
	char *argv[] = { "sleep", "0.2", NULL };
	const struct child_options options = {
		.argv = argv, .output = "stopped", .scratch = scratch, .limit_ns = 60 * NS_PER_S
	};
	struct child child;

	/* Ends a test that would wait for ever. */
	alarm(60);
	for (int asks = 0; asks < 2; asks++) {
		ok(!child_start(&options, &child), "a program whose reaper is stopped");
		kill(child.reaper, SIGSTOP);
		while (asks && !child_ended(&child))
			usleep(10000);
		child_finish(&child, 0);
		child_wait(&child);
		ok(child.ended, "holds nobody");
		child_deinit(&child);
	}
	alarm(0);
}

/* Its reaper waits for the exec, which waits for a reader of the output. */
static void test_a_harness_that_dies_while_starting(void)
{
	char path[PATH_MAX + 16], family[64];
	char *argv[] = { "sleep", "300", NULL };
	struct scratch scratch;
	const struct child_options options = {
		.argv = argv, .output = "pipe", .scratch = &scratch, .limit_ns = 60 * NS_PER_S
	};
	struct child child = { 0 };
	pid_t harness;
	int tries;

	ok(!scratch_init(&scratch), "a private folder");
	snprintf(path, sizeof(path), "%s/pipe", scratch.path);
	ok(!mkfifo(path, 0600), "a pipe to write to");
	harness = fork();
	if (!harness)
		_exit(child_start(&options, &child) != 0);
	snprintf(family, sizeof(family), "/proc/%d/task/%d/children", harness, harness);
	for (tries = 0; tries < 1000; tries++) {
		_cleanup_free_ char *reaper = text_read_trimmed("%s", family);

		if (reaper && *reaper)
			break;
		usleep(10000);
	}
	kill(harness, SIGKILL);
	waitpid(harness, NULL, 0);
	close(open(path, O_RDONLY));
	for (tries = 0; tries < 1000 && !access(scratch.path, F_OK); tries++)
		usleep(10000);
	ok(access(scratch.path, F_OK), "its reaper takes the folder away");
	scratch_deinit(&scratch);
}

int main(void)
{
	/* Out of the program's process group, deaf to signals, and its parent gone. */
	static const char stray[] = "(trap '' INT TERM; exec setsid sleep 300) & echo $!; ";
	struct scratch scratch;
	struct child child = { 0 };
	char script[128];

	ok(!scratch_init(&scratch), "a private folder");
	ok(is_gone(run_script(stray, &scratch, false, &child)), "what a program leaves is killed");
	ok(child.ended && !child.late && child_exit_code(&child) == 0, "it ended by itself");
	snprintf(script, sizeof(script), "%s exec sleep 300", stray);
	ok(is_gone(run_script(script, &scratch, true, &child)), "with a killed program too");
	ok(child.ended && child.late, "that one was killed");
	test_confined(&scratch);
	test_limits(&scratch);
	test_ignored_signal(&scratch);
	test_a_stopped_reaper(&scratch);
	test_a_harness_that_dies_while_starting();
	scratch_deinit(&scratch);
	return tap_end();
}
