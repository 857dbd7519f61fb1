/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "reaper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "program.h"
#include "text.h"
#include "units.h"

/* Limit for killing; a process that survives it sleeps in the kernel. */
#define KILL_NS (10 * NS_PER_S)

/* Its files are usually in memory: a program out of control must not fill it. */
static int limit_files(const struct child_options *options)
{
	const rlim_t most = options->file_limit ? options->file_limit : CHILD_FILE_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit))
		return -1;
	/* Only root may raise its hard limit. */
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_FSIZE, &limit);
}

/*
 * Denies sched_setaffinity() to this process and its children: with it a program may move to any
 * CPU (tlb-shootdown of stress-ng 0.19 does), in spite of a cpuset. A kernel without seccomp
 * filters runs the program without this.
 */
static void confine_to_cpus(void)
{
	/* For native programs only: on another architecture the call with this number fails too. */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_setaffinity, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter),
					    .filter = filter };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Mitigations for untrusted code must not slow the load. */
	syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
}

static void exec_program(const struct child_options *options, pid_t reaper)
{
	const int folder = chdir(options->scratch->path);
	const int out = open(options->output, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	const int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char program[PATH_MAX];
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != reaper || folder || out < 0 || in < 0 || limit_files(options))
		return;
	if (options->group && options->group->path[0] && memgroup_enter(options->group) < 0)
		return;
	setpgid(0, 0);
	/* The harness's memory settings are not for its children. */
	syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0);
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	if (options->cpus && options->cpus->count && cpulist_bind(options->cpus) < 0)
		return;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* SIGINT ends the program; background jobs of scripts ignore it. */
	signal(SIGINT, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	if (options->confined)
		confine_to_cpus();
	errno = -program_find(options->argv[0], getenv("PATH"), program);
	if (!errno)
		execv(program, options->argv);
}

/* The error of exec comes through a pipe that a successful exec closes. */
static pid_t start_program(const struct child_options *options, int *error)
{
	const pid_t reaper = getpid();
	int fds[2];
	pid_t pid;

	*error = 0;
	if (pipe2(fds, O_CLOEXEC)) {
		*error = errno;
		return -1;
	}
	pid = fork();
	if (pid == 0) {
		exec_program(options, reaper);
		*error = errno;
		_exit(write(fds[1], error, sizeof(*error)) == sizeof(*error) ? 127 : 126);
	}
	if (pid < 0)
		*error = errno;
	close(fds[1]);
	if (pid > 0 && read(fds[0], error, sizeof(*error)) != sizeof(*error))
		*error = 0;
	close(fds[0]);
	return pid;
}

/* "PID (name) S PPID ...": the name may hold any character (proc_pid_stat(5)). */
static pid_t parent_of(const char *stat)
{
	const char *name_end = strrchr(stat, ')');
	int parent;

	return name_end && sscanf(name_end + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

/* Not from /proc/PID/task/TID/children: some kernels lack it (CONFIG_PROC_CHILDREN). */
static void kill_children(void)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	const pid_t self = getpid();

	for (const char *name; (name = next_name(proc));) {
		const long pid = strtol(name, NULL, 10);
		_cleanup_free_ char *stat = pid > 1 ? text_read_trimmed("/proc/%ld/stat", pid) :
						      NULL;

		/* Only this process waits for its children: the number is still the child's. */
		if (stat && parent_of(stat) == self)
			kill((pid_t)pid, SIGKILL);
	}
}

/* Collects dead children, and the program's status. Returns whether children are left. */
static bool reap(pid_t program, int *status)
{
	int one;
	pid_t pid;

	while ((pid = waitpid(-1, &one, WNOHANG)) > 0) {
		if (pid == program)
			*status = one;
	}
	return pid == 0;
}

/* Orphans become the reaper's children: it kills children until none are left. */
static void kill_all(pid_t program, int *status)
{
	const uint64_t deadline = clock_raw_ns() + KILL_NS;

	while (reap(program, status) && clock_raw_ns() < deadline) {
		kill_children();
		usleep(1000);
	}
}

static int until(uint64_t deadline)
{
	const uint64_t now = clock_raw_ns();

	if (now >= deadline)
		return 0;
	return deadline - now > 1000 * NS_PER_S ? 1000000 : (int)((deadline - now) / NS_PER_MS) + 1;
}

/*
 * Waits until the program has ended, time is up or the harness is gone. An order is the program's
 * grace period in ns; 0 kills at once.
 */
static void watch(pid_t program, int orders, int signals, uint64_t limit_ns,
		  struct reaper_report *report)
{
	struct pollfd fds[] = { { .fd = orders, .events = POLLIN },
				{ .fd = signals, .events = POLLIN } };
	uint64_t deadline = clock_raw_ns() + limit_ns;
	struct signalfd_siginfo info;
	uint64_t order;

	for (reap(program, &report->status); report->status < 0; reap(program, &report->status)) {
		if (poll(fds, 2, until(deadline)) < 0 && errno != EINTR)
			break;
		if (fds[1].revents && read(signals, &info, sizeof(info)) < 0)
			break;
		if (fds[0].revents && read(orders, &order, sizeof(order)) != sizeof(order))
			break;
		if (fds[0].revents) {
			/* To the program alone: workers of stress-ng would lose their counts. */
			kill(program, SIGINT);
			deadline = clock_raw_ns() + order;
		}
		report->late = clock_raw_ns() >= deadline;
		if (report->late)
			break;
	}
	if (report->status < 0)
		kill(-program, SIGKILL);
}

_Noreturn void reaper_main(const struct child_options *options, pid_t harness, int fd)
{
	struct reaper_report report = { .status = -1 };
	struct scratch scratch = *options->scratch;
	struct memgroup group = { 0 };
	sigset_t all, chld;
	pid_t program = -1;
	int signals;

	if (options->group)
		group = *options->group;
	setpgid(0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	signals = signalfd(-1, &chld, SFD_CLOEXEC);
	if (signals < 0)
		report.error = errno;
	else
		program = start_program(options, &report.error);
	if (write(fd, &report, sizeof(report)) == sizeof(report) && !report.error)
		watch(program, fd, signals, options->limit_ns, &report);
	kill_all(program, &report.status);
	if (report.status < 0)
		report.status = SIGKILL;
	/* The harness is gone and cannot clean up. */
	if (write(fd, &report, sizeof(report)) != sizeof(report) || getppid() != harness) {
		scratch_deinit(&scratch);
		memgroup_deinit(&group);
	}
	_exit(0);
}
