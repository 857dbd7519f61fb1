/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mount.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "units.h"

#define PREFIX "lowlat-measure-"
#define TRIES 3
/* Programs that a killed run left may hold its instances open for another ten seconds. */
#define KEEPER_TRIES 600
#define KEEPER_PAUSE_US 20000

/* A private mount without a path; it ends with the process. */
static int mount_privately(void)
{
#if defined(SYS_fsopen)
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);

	if (fs < 0)
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -errno;
	const int root = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);

	return root < 0 ? -errno : root;
#else
	return -ENODEV;
#endif
}

int tracefs_open(void)
{
	static const char *const mounted[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < sizeof(mounted) / sizeof(*mounted); i++) {
		const int root = open(mounted[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (root >= 0 && !faccessat(root, "instances", W_OK, 0))
			return root;
		if (root >= 0)
			close(root);
	}
	return mount_privately();
}

unsigned int instances_sweep(pid_t run)
{
	_cleanup_close_ int root = tracefs_open();
	const int fd = openat(root, "instances", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_closedir_ DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	unsigned int left = 0;
	char prefix[48] = PREFIX;

	if (run)
		snprintf(prefix, sizeof(prefix), PREFIX "%d-", run);
	for (const char *name; (name = next_name(folder));) {
		if (!strncmp(name, prefix, strlen(prefix)))
			left += unlinkat(fd, name, AT_REMOVEDIR) != 0;
	}
	return left;
}

void instance_deinit(int root, struct instance *instance)
{
	if (instance->on >= 0)
		close(instance->on);
	if (instance->folder >= 0)
		close(instance->folder);
	if (instance->path[0])
		unlinkat(root, instance->path, AT_REMOVEDIR);
	*instance = (struct instance){ .folder = -1, .on = -1 };
}

static int instance_make(int root, const char *kind, struct instance *ret)
{
	int err;

	*ret = (struct instance){ .folder = -1, .on = -1 };
	/* Processes in different containers may have the same number. */
	snprintf(ret->path, sizeof(ret->path), "instances/" PREFIX "%d-%08" PRIx32 "%s", getpid(),
		 (uint32_t)clock_raw_ns(), kind);
	if (mkdirat(root, ret->path, 0700)) {
		err = -errno;
		ret->path[0] = '\0';
		return err;
	}
	ret->folder = openat(root, ret->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->folder >= 0)
		ret->on = openat(ret->folder, "tracing_on", O_WRONLY | O_CLOEXEC);
	return ret->on < 0 ? -errno : 0;
}

/* Before it is held open, another run may take the new instance for abandoned. */
int instance_init(int root, const char *kind, struct instance *ret)
{
	int err = -ENOENT;

	for (int i = 0; i < TRIES && err == -ENOENT; i++) {
		err = instance_make(root, kind, ret);
		if (err)
			instance_deinit(root, ret);
	}
	return err;
}

void instance_switch(const struct instance *instance, bool on)
{
	if (instance->on >= 0 && write(instance->on, on ? "1" : "0", 1) < 0)
		return;
}

/* Readers of the run's output must not wait for this process. */
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

	/* Its own session: the run's process group may be killed. */
	setsid();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "lowlat-keeper");
	close_others(alive);
	while (read(alive, &none, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < KEEPER_TRIES && instances_sweep(run); i++)
		usleep(KEEPER_PAUSE_US);
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
