/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "cleanup.h"

/* The start of net.ipv4.ip_local_port_range. */
#define EPHEMERAL 32768

static bool is_free(int type, unsigned int port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons((uint16_t)port) };
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	const int on = 1;

	/* A TCP port in TIME_WAIT counts as free; a UDP port cannot be shared. */
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

uint16_t ports_find(uint16_t first, uint16_t count)
{
	unsigned int begin = first, port = first;

	while (port < begin + count && port < EPHEMERAL) {
		const bool usable = is_free(SOCK_STREAM, port) && is_free(SOCK_DGRAM, port);

		port++;
		if (!usable)
			begin = port;
	}
	return port == begin + count ? (uint16_t)begin : first;
}
