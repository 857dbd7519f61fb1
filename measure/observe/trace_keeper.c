/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_keeper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "trace_instance.h"

/* What a killed run has left running may hold its instances for another ten seconds. */
#define TRIES 600
#define PAUSE_US 20000

/* Whoever reads what the run writes must not wait for this process. */
static void close_others(int kept)
{
	_cleanup_closedir_ DIR *open_files = opendir("/proc/self/fd");

	for (const char *name; (name = next_name(open_files));) {
		const int fd = atoi(name);

		if (fd != kept && fd != dirfd(open_files))
			close(fd);
	}
}

static _Noreturn void keep(pid_t run, int alive)
{
	sigset_t all;
	char none;

	/* What is killed with the run is its process group. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "lowlat-keeper");
	close_others(alive);
	while (read(alive, &none, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < TRIES && instances_sweep(run); i++)
		usleep(PAUSE_US);
	_exit(0);
}

int trace_keeper_init(struct trace_keeper *ret)
{
	const pid_t run = getpid();
	int fds[2];

	*ret = (struct trace_keeper){ .alive = -1 };
	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	ret->pid = fork();
	if (ret->pid == 0) {
		close(fds[1]);
		keep(run, fds[0]);
	}
	close(fds[0]);
	ret->alive = fds[1];
	if (ret->pid > 0)
		return 0;
	ret->pid = 0;
	close(ret->alive);
	return -EAGAIN;
}

void trace_keeper_deinit(struct trace_keeper *keeper)
{
	if (keeper->pid <= 0)
		return;
	close(keeper->alive);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*keeper = (struct trace_keeper){ .alive = -1 };
}
