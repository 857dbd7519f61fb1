// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded into the process that is cut: counts its calls that write to one file system, and kills
// it in the call of that number. A write is then done by half, any other call not at all.
//
// From the environment, looked up at each call: LOWLAT_CUT_DEV, the file system (st_dev);
// LOWLAT_CUT_COUNT, a file that holds the count so far (int); LOWLAT_CUT_AT, the call to die in.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static int count;
static pid_t counted;

static void die(void)
{
	syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	for (;;)
		syscall(SYS_pause);
}

// Whether this call is the one to die in.
static int due(void)
{
	const char *at = getenv("LOWLAT_CUT_AT"), *file = getenv("LOWLAT_CUT_COUNT");
	pid_t pid = (pid_t)syscall(SYS_getpid);

	if (!at || !file)
		return 0;
	if (pid != counted) {
		counted = pid;
		count = 0;
	}
	count++;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	syscall(SYS_pwrite64, fd, &count, sizeof(count), 0);
	syscall(SYS_close, fd);
	return count == atoi(at);
}

static int ours(int fd)
{
	const char *dev = getenv("LOWLAT_CUT_DEV");
	struct stat held;

	return dev && !fstat(fd, &held) && S_ISREG(held.st_mode) &&
	       held.st_dev == (dev_t)strtoull(dev, NULL, 10);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size)
{
	if (ours(fd) && due()) {
		syscall(SYS_write, fd, data, size / 2);
		die();
	}
	return REAL(write)(fd, data, size);
}

#define CUT(type, name, parameters, arguments) \
	type name parameters                   \
	{                                      \
		if (due())                     \
			die();                 \
		return REAL(name) arguments;   \
	}

CUT(int, rename, (const char *a, const char *b), (a, b))
CUT(int, renameat, (int f, const char *a, int g, const char *b), (f, a, g, b))
CUT(int, unlink, (const char *a), (a))
CUT(int, unlinkat, (int f, const char *a, int flags), (f, a, flags))
CUT(int, rmdir, (const char *a), (a))
CUT(int, mkdir, (const char *a, mode_t mode), (a, mode))
CUT(int, mkdirat, (int f, const char *a, mode_t mode), (f, a, mode))
CUT(int, symlink, (const char *a, const char *b), (a, b))
CUT(int, symlinkat, (const char *a, int f, const char *b), (a, f, b))
CUT(int, link, (const char *a, const char *b), (a, b))
CUT(int, linkat, (int f, const char *a, int g, const char *b, int flags), (f, a, g, b, flags))
CUT(int, chmod, (const char *a, mode_t mode), (a, mode))
CUT(int, fchmodat, (int f, const char *a, mode_t mode, int flags), (f, a, mode, flags))
CUT(int, fchownat, (int f, const char *a, uid_t u, gid_t g, int flags), (f, a, u, g, flags))
CUT(int, truncate, (const char *a, off_t size), (a, size))
// A child has ended: what it wrote is there, what comes of it is not.
pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t ended = REAL(waitpid)(pid, status, options);

	if (ended > 0 && due())
		die();
	return ended;
}

#define CUT_FD(name, parameters, arguments)  \
	int name parameters                  \
	{                                    \
		if (ours(fd) && due())       \
			die();               \
		return REAL(name) arguments; \
	}

CUT_FD(fchmod, (int fd, mode_t mode), (fd, mode))
CUT_FD(fchown, (int fd, uid_t u, gid_t g), (fd, u, g))
CUT_FD(ftruncate, (int fd, off_t size), (fd, size))
CUT_FD(ftruncate64, (int fd, off64_t size), (fd, size))
CUT_FD(fsetxattr, (int fd, const char *a, const void *v, size_t n, int f), (fd, a, v, n, f))

static mode_t mode_of(int flags, va_list rest)
{
	return flags & O_CREAT ? va_arg(rest, mode_t) : 0;
}

#define CUT_OPEN(name, parameters, arguments)               \
	int name parameters                                 \
	{                                                   \
		va_list rest;                               \
		va_start(rest, flags);                      \
		mode_t mode = mode_of(flags, rest);         \
		va_end(rest);                               \
		if ((flags & (O_CREAT | O_TRUNC)) && due()) \
			die();                              \
		return REAL(name) arguments;                \
	}

CUT_OPEN(open, (const char *a, int flags, ...), (a, flags, mode))
CUT_OPEN(open64, (const char *a, int flags, ...), (a, flags, mode))
CUT_OPEN(openat, (int f, const char *a, int flags, ...), (f, a, flags, mode))
CUT_OPEN(openat64, (int f, const char *a, int flags, ...), (f, a, flags, mode))
