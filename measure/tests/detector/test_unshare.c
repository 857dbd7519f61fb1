/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unshare.h"
#include "tap.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 64

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* One write to each page; how many of them the kernel had to look after. */
static long write_each(volatile unsigned char *pages, size_t size)
{
	const long before = faults();

	for (size_t i = 0; i < PAGES; i++)
		pages[i * size] = (unsigned char)i;
	return faults() - before;
}

static pid_t fork_sleeper(void)
{
	const pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

static void end_sleeper(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_own(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *pages = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char present[PAGES];
	unsigned char *untouched;
	bool kept = true;
	size_t found = 0;
	pid_t child;

	write_each(pages, size);
	child = fork_sleeper();
	ok(write_each(pages, size) >= PAGES, "a page shared with a child is copied when written");
	end_sleeper(child);

	child = fork_sleeper();
	untouched = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	ok(unshare_pages() >= PAGES, "all of them are written to");
	ok(write_each(pages, size) < PAGES / 2, "and are nobody else's then");
	for (size_t i = 0; i < PAGES; i++)
		kept &= pages[i * size] == (unsigned char)i;
	ok(kept, "what they hold stays");
	mincore(untouched, PAGES * size, present);
	for (size_t i = 0; i < PAGES; i++)
		found += present[i] & 1;
	ok(!found, "memory that was never used stays without pages");
	end_sleeper(child);
}

int main(void)
{
	test_own();
	return tap_end();
}
