// SPDX-License-Identifier: GPL-2.0-or-later
// Preloaded into the process that is cut, and into grub-editenv that it starts: counts the calls that
// write to one file system, and ends the process in the call of that number, any other one in its
// next call. A write is then done by half, any other call not at all. What was done is logged, for
// replay.py. With LOWLAT_CUT_ERRNO that call fails with this error instead, with LOWLAT_CUT_LASTING
// all later ones too. With LOWLAT_CUT_STOP the process stops before that call (SIGSTOP), and makes it
// when it is continued.
//
// From the environment, looked up at each call: LOWLAT_CUT_COUNT, a file that holds the count so far
// (int); LOWLAT_CUT_DEV, the file system (st_dev); LOWLAT_CUT_AT, the call to die in; LOWLAT_CUT_LOG,
// the log. In a child in a chroot also LOWLAT_CUT_ROOT, where that is.
//
// A record of the log: count, call, path, two numbers and the length of the data, separated by tabs;
// after the newline the data, and another newline.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int count;
// What a child opened last for writing: it has no /proc to look it up in.
static char opened[PATH_MAX];

// Whether another program that the cut one started has inherited all this: its calls don't count.
static int inherited;

static int in_child(void)
{
	return getenv("LOWLAT_CUT_ROOT") != NULL;
}

__attribute__((constructor)) static void begin(void)
{
	inherited = getenv("LOWLAT_CUT_COUNT") && !in_child();
}

static void die(void)
{
	syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	// The first process of a namespace gets no signal from itself.
	for (;;)
		syscall(SYS_exit_group, 128 + SIGKILL);
}

// Whether this call is the one to die in.
static int due(void)
{
	const char *at = getenv("LOWLAT_CUT_AT"), *file = getenv("LOWLAT_CUT_COUNT");

	if (!at || !file || inherited)
		return 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (syscall(SYS_pread64, fd, &count, sizeof(count), 0) != sizeof(count))
		count = 0;
	count++;
	syscall(SYS_pwrite64, fd, &count, sizeof(count), 0);
	syscall(SYS_close, fd);
	if (getenv("LOWLAT_CUT_STOP")) {
		if (count == atoi(at))
			syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
		return 0;
	}
	int lasting = getenv("LOWLAT_CUT_LASTING") || !getenv("LOWLAT_CUT_ERRNO");

	return lasting && atoi(at) > 0 ? count >= atoi(at) : count == atoi(at);
}

// Whether this call is to fail, with errno set. Where it is one to die in, it does not come back.
// A signal interrupts no call that changes names.
static int fails(int interruptible)
{
	const char *error = getenv("LOWLAT_CUT_ERRNO");

	if (!due() || (error && atoi(error) == EINTR && !interruptible))
		return 0;
	if (!error)
		die();
	errno = atoi(error);
	return 1;
}

static void log_call(const char *call, const char *path, long a, long b, const void *data,
		     size_t size)
{
	const char *file = getenv("LOWLAT_CUT_LOG");
	char head[PATH_MAX + 128];

	if (!file || inherited)
		return;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
			      0600);
	int length = snprintf(head, sizeof(head), "%d\t%s\t%s\t%ld\t%ld\t%zu\n", count, call, path,
			      a, b, size);
	syscall(SYS_write, fd, head, (size_t)length);
	syscall(SYS_write, fd, data, size);
	syscall(SYS_write, fd, "\n", (size_t)1);
	syscall(SYS_close, fd);
}

static void path_of(int fd, char *path)
{
	char link[64];

	if (in_child()) {
		snprintf(path, PATH_MAX, "%s", opened);
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t size = readlink(link, path, PATH_MAX - 1);
	path[size > 0 ? size : 0] = 0;
}

static void path_at(int fd, const char *name, char *path)
{
	size_t size;

	*path = 0;
	if (*name != '/') {
		if (fd == AT_FDCWD)
			getcwd(path, PATH_MAX);
		else
			path_of(fd, path);
	}
	size = strlen(path);
	snprintf(path + size, PATH_MAX - size, "%s%s", size ? "/" : "", name);
}

static void log_fd(const char *call, int fd, long a, long b, const void *data, size_t size)
{
	char path[PATH_MAX];

	path_of(fd, path);
	log_call(call, path, a, b, data, size);
}

static void log_at(const char *call, int fd, const char *name, long a, const char *data)
{
	char path[PATH_MAX];

	path_at(fd, name, path);
	log_call(call, path, a, 0, data, strlen(data));
}

static void log_pair(const char *call, int f, const char *a, int g, const char *b)
{
	char to[PATH_MAX];

	path_at(g, b, to);
	log_at(call, f, a, 0, to);
}

static void log_open(int fd, const char *name, int flags, mode_t mode)
{
	char path[PATH_MAX];

	path_at(fd, name, path);
	log_call("open", path, flags & O_TRUNC, (long)mode, "", 0);
}

static int ours(int fd)
{
	const char *dev = getenv("LOWLAT_CUT_DEV");
	struct stat held;

	return dev && !fstat(fd, &held) && (S_ISREG(held.st_mode) || S_ISDIR(held.st_mode)) &&
	       held.st_dev == (dev_t)strtoull(dev, NULL, 10);
}

ssize_t write(int fd, const void *data, size_t size)
{
	if (!ours(fd))
		return REAL(write)(fd, data, size);
	if (due()) {
		const char *error = getenv("LOWLAT_CUT_ERRNO");

		if (!error) {
			syscall(SYS_write, fd, data, size / 2);
			die();
		}
		errno = atoi(error);
		return -1;
	}
	ssize_t done = REAL(write)(fd, data, size);
	if (done > 0)
		log_fd("write", fd, lseek(fd, 0, SEEK_CUR) - done, 0, data, (size_t)done);
	return done;
}

#define CUT(name, parameters, arguments, logged)   \
	int name parameters                        \
	{                                          \
		if (fails(0))                      \
			return -1;                 \
		int result = REAL(name) arguments; \
		if (result == 0)                   \
			logged;                    \
		return result;                     \
	}

CUT(rename, (const char *a, const char *b), (a, b), log_pair("rename", AT_FDCWD, a, AT_FDCWD, b))
CUT(renameat, (int f, const char *a, int g, const char *b), (f, a, g, b),
    log_pair("rename", f, a, g, b))
CUT(unlink, (const char *a), (a), log_at("unlink", AT_FDCWD, a, 0, ""))
CUT(unlinkat, (int f, const char *a, int flags), (f, a, flags),
    log_at(flags &AT_REMOVEDIR ? "rmdir" : "unlink", f, a, 0, ""))
CUT(rmdir, (const char *a), (a), log_at("rmdir", AT_FDCWD, a, 0, ""))
CUT(mkdir, (const char *a, mode_t mode), (a, mode), log_at("mkdir", AT_FDCWD, a, (long)mode, ""))
CUT(mkdirat, (int f, const char *a, mode_t mode), (f, a, mode),
    log_at("mkdir", f, a, (long)mode, ""))
CUT(symlink, (const char *a, const char *b), (a, b), log_at("symlink", AT_FDCWD, b, 0, a))
CUT(symlinkat, (const char *a, int f, const char *b), (a, f, b), log_at("symlink", f, b, 0, a))
CUT(link, (const char *a, const char *b), (a, b), log_pair("link", AT_FDCWD, a, AT_FDCWD, b))
CUT(linkat, (int f, const char *a, int g, const char *b, int flags), (f, a, g, b, flags),
    log_pair("link", f, a, g, b))
CUT(chmod, (const char *a, mode_t mode), (a, mode), log_at("chmod", AT_FDCWD, a, (long)mode, ""))
CUT(fchmodat, (int f, const char *a, mode_t mode, int flags), (f, a, mode, flags),
    log_at("chmod", f, a, (long)mode, ""))
CUT(fchownat, (int f, const char *a, uid_t u, gid_t g, int flags), (f, a, u, g, flags),
    log_at("fchownat", f, a, (long)u, ""))
CUT(truncate, (const char *a, off_t size), (a, size), log_at("truncate", AT_FDCWD, a, size, ""))

// A child has ended: what it wrote is there, what comes of it is not.
pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t ended = REAL(waitpid)(pid, status, options);

	if (ended > 0 && !getenv("LOWLAT_CUT_ERRNO") && due())
		die();
	return ended;
}

#define CUT_FD(name, parameters, arguments, logged) \
	int name parameters                         \
	{                                           \
		int counted = ours(fd);             \
		if (counted && fails(1))            \
			return -1;                  \
		int result = REAL(name) arguments;  \
		if (counted && result == 0)         \
			logged;                     \
		return result;                      \
	}

CUT_FD(fchmod, (int fd, mode_t mode), (fd, mode), log_fd("chmod", fd, (long)mode, 0, "", 0))
CUT_FD(fchown, (int fd, uid_t u, gid_t g), (fd, u, g), log_fd("chown", fd, u, g, "", 0))
CUT_FD(ftruncate, (int fd, off_t size), (fd, size), log_fd("truncate", fd, size, 0, "", 0))
CUT_FD(ftruncate64, (int fd, off64_t size), (fd, size), log_fd("truncate", fd, size, 0, "", 0))
CUT_FD(fsetxattr, (int fd, const char *a, const void *v, size_t n, int f), (fd, a, v, n, f),
       log_fd("fsetxattr", fd, 0, 0, "", 0))

// Not cut, for it changes nothing that a process could see; a power cut before it can. It may fail.
int fsync(int fd)
{
	if (getenv("LOWLAT_CUT_ERRNO") && ours(fd) && fails(1))
		return -1;
	int result = REAL(fsync)(fd);

	if (result == 0 && ours(fd))
		log_fd("fsync", fd, 0, 0, "", 0);
	return result;
}

static mode_t mode_of(int flags, va_list rest)
{
	return flags & O_CREAT ? va_arg(rest, mode_t) : 0;
}

#define CUT_OPEN(name, parameters, arguments, at)             \
	int name parameters                                   \
	{                                                     \
		va_list rest;                                 \
		va_start(rest, flags);                        \
		mode_t mode = mode_of(flags, rest);           \
		va_end(rest);                                 \
		if ((flags & (O_CREAT | O_TRUNC)) && fails(1)) \
			return -1;                            \
		int fd = REAL(name) arguments;                \
		if (fd >= 0 && (flags & (O_CREAT | O_TRUNC))) \
			log_open(at, a, flags, mode);         \
		return fd;                                    \
	}

CUT_OPEN(open, (const char *a, int flags, ...), (a, flags, mode), AT_FDCWD)
CUT_OPEN(open64, (const char *a, int flags, ...), (a, flags, mode), AT_FDCWD)
CUT_OPEN(openat, (int f, const char *a, int flags, ...), (f, a, flags, mode), f)
CUT_OPEN(openat64, (int f, const char *a, int flags, ...), (f, a, flags, mode), f)

// The C library's own calls come past us: a child that writes through it is cut where it opens, which
// empties the file, and where it flushes.
FILE *fopen64(const char *name, const char *how)
{
	int writes = in_child() && *how != 'r' && *name == '/';

	if (writes && fails(1))
		return NULL;
	FILE *file = REAL(fopen64)(name, how);
	if (file && writes) {
		snprintf(opened, sizeof(opened), "%s%s", getenv("LOWLAT_CUT_ROOT"), name);
		log_call("open", opened, O_TRUNC, 0666, "", 0);
	}
	return file;
}

FILE *fopen(const char *name, const char *how)
{
	return fopen64(name, how);
}

int fflush(FILE *file)
{
	static char content[1 << 16];

	if (!in_child() || !file || !*opened || fileno(file) <= STDERR_FILENO)
		return REAL(fflush)(file);
	if (fails(1))
		return EOF;
	int result = REAL(fflush)(file);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, opened + strlen(getenv("LOWLAT_CUT_ROOT")),
			      O_RDONLY | O_CLOEXEC);
	ssize_t size = syscall(SYS_read, fd, content, sizeof(content));
	syscall(SYS_close, fd);
	if (size > 0)
		log_call("write", opened, 0, 0, content, (size_t)size);
	return result;
}
