/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"
#include "tap.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT 8

/* Where permitted, nobody else takes or leaves a port. */
static void enter_own_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	ok(!ioctl(fd, SIOCSIFFLAGS, &lo), "a network of its own");
	close(fd);
}

static int occupy(int type, uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int fd = socket(AF_INET, type, 0);

	return bind(fd, (const struct sockaddr *)&address, sizeof(address)) ? -1 : fd;
}

int main(void)
{
	uint16_t first;
	int tcp, udp;

	enter_own_network();
	first = ports_find(27000, COUNT);
	ok(first >= 27000, "some are free from %u on", first);
	tcp = occupy(SOCK_STREAM, first + 2);
	udp = occupy(SOCK_DGRAM, first + 5);
	ok(tcp >= 0 && udp >= 0 && !listen(tcp, 1), "two of them are taken, for TCP and for UDP");
	ok(ports_find(first, 2) == first, "those before remain");
	ok(ports_find(first, COUNT) >= first + 6, "a longer run begins behind them");
	close(tcp);
	close(udp);
	ok(ports_find(first, COUNT) == first, "they are free again");
	ok(ports_find(32765, COUNT) == 32765, "no run goes up to the kernel's own ports");
	return tap_end();
}
