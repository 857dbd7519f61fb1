/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reaper.h"
#include "text.h"
#include "units.h"

/* Limit for a program to print its version and options. */
#define ANSWER_NS (20 * NS_PER_S)

/* After so long without a report, a reaper is made to go on. */
#define STOPPED_MS 100

static int fork_reaper(const struct child_options *options, struct child *ret)
{
	const pid_t harness = getpid();
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	ret->fd = fds[0];
	ret->reaper = fork();
	if (ret->reaper == 0) {
		close(fds[0]);
		reaper_main(options, harness, fds[1]);
	}
	close(fds[1]);
	if (ret->reaper > 0)
		return 0;
	ret->reaper = 0;
	close(fds[0]);
	return -EAGAIN;
}

/* A reaper that somebody stopped would hold the run. Returns whether it reported. */
static bool receive(const struct child *child, struct reaper_report *ret)
{
	struct pollfd fd = { .fd = child->fd, .events = POLLIN };

	while (poll(&fd, 1, STOPPED_MS) != 1)
		kill(child->reaper, SIGCONT);
	return read(child->fd, ret, sizeof(*ret)) == sizeof(*ret);
}

static void kill_all(struct child *child)
{
	child_finish(child, 0);
	child_wait(child);
}

int child_start(const struct child_options *options, struct child *ret)
{
	const char *folder = options->scratch->path;
	struct reaper_report report;
	int err;

	*ret = (struct child){ .output_path = text_format("%s/%s", folder, options->output) };
	if (options->file)
		ret->file_path = text_format("%s/%s", folder, options->file);
	err = fork_reaper(options, ret);
	if (!err && !receive(ret, &report))
		err = -ECHILD;
	if (!err)
		err = -report.error;
	if (err) {
		kill_all(ret);
		ret->reaper = 0;
		ret->ended = false;
	}
	return err;
}

bool child_ended(struct child *child)
{
	if (child->reaper && !child->ended) {
		struct pollfd fd = { .fd = child->fd, .events = POLLIN };

		if (poll(&fd, 1, 0) == 1)
			child_wait(child);
		else
			kill(child->reaper, SIGCONT);
	}
	return !child->reaper || child->ended;
}

void child_finish(struct child *child, uint64_t grace_ns)
{
	if (!child->reaper || child->ended)
		return;
	/* Fails only if the reaper is gone, which child_wait() detects. */
	if (write(child->fd, &grace_ns, sizeof(grace_ns)) < 0)
		return;
}

/* Reads and removes the file; the next run writes a new one. Returns whether all was read. */
static bool take(const char *path, char **ret)
{
	struct stat status;
	bool whole = true;

	if (path && !stat(path, &status) && status.st_size && !text_read(path, CHILD_TEXT_MAX, ret))
		whole = (uint64_t)status.st_size <= CHILD_TEXT_MAX;
	if (path)
		unlink(path);
	return whole;
}

void child_wait(struct child *child)
{
	struct reaper_report report = { .status = SIGKILL };

	if (!child->reaper || child->ended)
		return;
	/* A killed reaper reports nothing; its program dies with it. */
	if (!receive(child, &report))
		report.status = SIGKILL;
	child->status = report.status;
	child->late = report.late;
	child->ended = true;
	close(child->fd);
	waitpid(child->reaper, NULL, 0);
	child->truncated = !take(child->output_path, &child->output);
	child->truncated |= !take(child->file_path, &child->file);
}

void child_deinit(struct child *child)
{
	kill_all(child);
	free(child->output);
	free(child->file);
	free(child->output_path);
	free(child->file_path);
}

int child_ask(char *const argv[], const struct scratch *scratch, char **ret)
{
	const struct child_options options = {
		.argv = argv, .output = "answer", .scratch = scratch, .limit_ns = ANSWER_NS
	};
	struct child child;
	int err = child_start(&options, &child);

	if (!err)
		child_wait(&child);
	*ret = child.output;
	child.output = NULL;
	child_deinit(&child);
	return err;
}

int child_exit_code(const struct child *child)
{
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}
