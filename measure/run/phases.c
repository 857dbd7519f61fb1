/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "phases.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int phases_open(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -EBADF;
	return 0;
}

/* Not on a terminal: it is shared, and the flag would stay; its end sends a signal anyway. */
void phases_watch(int fd)
{
	if (fd >= 0 && !isatty(fd) && !fcntl(fd, F_SETOWN, getpid()))
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
}

bool phases_unread(int fd)
{
	struct pollfd reader = { .fd = fd };

	return poll(&reader, 1, 0) > 0;
}

void phases_tell(int fd, const char *phase)
{
	const struct iovec line[] = { { (char *)phase, strlen(phase) }, { "\n", 1 } };
	struct pollfd reader = { .fd = fd, .events = POLLOUT };

	/* POLLERR comes beside it if the reader is gone. */
	if (fd < 0 || poll(&reader, 1, 0) < 1 || reader.revents != POLLOUT)
		return;
	if (writev(fd, line, sizeof(line) / sizeof(*line)) < 0)
		return;
}
