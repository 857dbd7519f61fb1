/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "phases.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static void test_descriptors(int reader, int writer)
{
	const int closed = dup(writer), path = open(".", O_PATH);

	close(closed);
	ok(!phases_open(writer), "the end of a pipe that is written to");
	ok(fcntl(writer, F_GETFD) & FD_CLOEXEC, "is not for other programs");
	ok(phases_open(reader) == -EBADF, "the end that is read");
	ok(phases_open(path) == -EBADF, "a mere path");
	ok(phases_open(closed) == -EBADF, "a closed descriptor");
	close(path);
}

static void test_lines(int reader, int writer)
{
	char text[64] = "";

	phases_tell(-1, "nobody");
	phases_tell(writer, "ready");
	phases_tell(writer, "measuring");
	ok(read(reader, text, sizeof(text) - 1) == 16, "all is there at once");
	is_text(text, "ready\nmeasuring\n", "a line each");
}

/* The test hangs if a line waits for room. */
static void test_full(int reader, int writer)
{
	static char page[4096];
	ssize_t filled = 0, left = 0, got;

	fcntl(writer, F_SETFL, O_NONBLOCK);
	while ((got = write(writer, page, sizeof(page))) > 0)
		filled += got;
	fcntl(writer, F_SETFL, 0);
	phases_tell(writer, "dropped");
	fcntl(reader, F_SETFL, O_NONBLOCK);
	while ((got = read(reader, page, sizeof(page))) > 0)
		left += got;
	ok(filled > 0 && left == filled, "a line without room is dropped");
	phases_tell(writer, "later");
	ok(read(reader, page, sizeof(page)) == 6, "the next one has room");
}

static void test_reader_gone(int reader, int writer)
{
	const struct timespec now = { 0 };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGIO);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	phases_watch(writer);
	ok(!phases_unread(-1) && !phases_unread(writer), "a reader that reads nothing is there");
	close(reader);
	ok(phases_unread(writer), "a reader that went away is gone");
	ok(sigtimedwait(&signals, NULL, &now) == SIGIO, "which a signal tells");
	phases_tell(writer, "unread");
	ok(true, "a line for it sends no signal");
}

int main(void)
{
	int fds[2];

	if (pipe(fds))
		return 1;
	test_descriptors(fds[0], fds[1]);
	test_lines(fds[0], fds[1]);
	test_full(fds[0], fds[1]);
	test_reader_gone(fds[0], fds[1]);
	close(fds[1]);
	return tap_end();
}
