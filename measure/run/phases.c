/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "phases.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/uio.h>

int phases_open(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -EBADF;
	return 0;
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
