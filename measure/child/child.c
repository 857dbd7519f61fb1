/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reaper.h"
#include "text.h"
#include "units.h"

/* A program has to tell its version and options by then. */
#define ANSWER_NS (20 * NS_PER_S)

static int fork_reaper(const struct child_options *options, struct child *ret)
{
	const pid_t harness = getpid();
	int orders[2], reports[2];

	if (pipe2(orders, O_CLOEXEC))
		return -errno;
	if (pipe2(reports, O_CLOEXEC)) {
		close(orders[0]);
		close(orders[1]);
		return -errno;
	}
	ret->order_fd = orders[1];
	ret->status_fd = reports[0];
	ret->reaper = fork();
	if (ret->reaper == 0) {
		close(orders[1]);
		close(reports[0]);
		reaper_main(options, harness, orders[0], reports[1]);
	}
	close(orders[0]);
	close(reports[1]);
	return ret->reaper < 0 ? -errno : 0;
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
	if (err < 0) {
		ret->reaper = 0;
		return err;
	}
	if (read(ret->status_fd, &report, sizeof(report)) != sizeof(report))
		report.error = ECHILD;
	if (report.error)
		child_kill(ret);
	return -report.error;
}

bool child_ended(struct child *child)
{
	if (child->reaper && !child->ended) {
		struct pollfd fd = { .fd = child->status_fd, .events = POLLIN };

		if (poll(&fd, 1, 0) == 1)
			child_wait(child);
	}
	return !child->reaper || child->ended;
}

void child_finish(struct child *child, uint64_t grace_ns)
{
	if (!child->reaper || child->ended)
		return;
	/* Fails only when the reaper is gone, which child_wait() sees. */
	if (write(child->order_fd, &grace_ns, sizeof(grace_ns)) < 0)
		return;
}

/* Takes the file away: the next run of the program writes it anew. Returns whether it took all. */
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
	/* A reaper that was killed reports nothing; its program dies with it. */
	if (read(child->status_fd, &report, sizeof(report)) != sizeof(report))
		report.status = SIGKILL;
	child->status = report.status;
	child->late = report.late;
	child->ended = true;
	close(child->order_fd);
	close(child->status_fd);
	waitpid(child->reaper, NULL, 0);
	child->truncated = !take(child->output_path, &child->output);
	child->truncated |= !take(child->file_path, &child->file);
}

void child_kill(struct child *child)
{
	child_finish(child, 0);
	child_wait(child);
}

void child_deinit(struct child *child)
{
	child_kill(child);
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
