/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has the kernel do known things at known lines, between two messages on descriptor 9. The numbers
 * are those of PLANTED in test_audited.py, which knows the lines by their comments. Exit status: 7,
 * or that of die().
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096L

static const struct timespec millisecond = { 0, 1000000 };
static atomic_uint go;
static atomic_bool leave;
static atomic_ulong beats;
static int word;

static void die(int status)
{
	_exit(status);
}

static void mark(char message)
{
	if (write(9, &message, 1) != 1 || read(9, &message, 1) != 1)
		die(90);
}

/* Enters the kernel once, however long the disk takes before it may go. */
static void *sibling(void *unused)
{
	while (!go)
		syscall(SYS_futex, &go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	while (!leave)
		beats++;
	return unused;
}

static void pin(pthread_t thread, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(thread, sizeof(set), &set)) /* migrate */
		die(91);
}

static void handle(int number)
{
	(void)number;
}

static char *map(long pages, int flags, int fd)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		die(92);
	return at;
}

/* Pages of a file that are on the disk alone. */
static volatile char *map_file(const char *path, long pages)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	unsigned char there[8] = { 1 };
	char *at;

	for (long i = 0; i < pages; i++) {
		char page[PAGE] = { 1 };

		if (write(fd, page, PAGE) != PAGE)
			die(93);
	}
	at = map(pages, MAP_PRIVATE, fd);
	madvise(at, pages * PAGE, MADV_RANDOM);
	fsync(fd);
	for (int tries = 0; tries < 1000; tries++) {
		int cached = 0;

		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		mincore(at, pages * PAGE, there);
		for (long i = 0; i < pages; i++)
			cached += there[i] & 1;
		if (!cached)
			return at;
	}
	die(94);
	return NULL;
}

static void plant(volatile char *fresh, volatile char *file, char *shared, const int *cpus)
{
	unsigned long beat;

	for (int i = 0; i < 37; i++)
		fresh[i * PAGE] = 1; /* fault */
	for (int i = 0; i < 2; i++)
		beats += file[i * PAGE]; /* read from the disk */
	for (int i = 0; i < 3; i++)
		getppid(); /* call */
	for (int i = 0; i < 5; i++)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &millisecond, NULL, 0); /* wait */
	for (int i = 0; i < 4; i++)
		raise(SIGUSR1); /* signal */
	for (int i = 0; i < 6; i++)
		pin(pthread_self(), cpus[(i + 1) % 2]);
	go = 1;
	syscall(SYS_futex, &go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	for (beat = beats; beat == beats;)
		;
	for (int i = 0; i < 16; i++)
		madvise(shared + i * PAGE, PAGE, MADV_DONTNEED); /* flush */
	for (int i = 0; i < 8; i++)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0); /* barrier */
}

int main(int count, char **words)
{
	int cpus[2] = { 0, 0 }, found = 0;
	cpu_set_t allowed;
	pthread_t thread;
	volatile char *file = map_file(words[count - 1], 2);
	char *fresh = map(64, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	char *shared = map(16, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[found++] = cpu;
	if (found < 2 || signal(SIGUSR1, handle) == SIG_ERR)
		die(95);
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
	if (pthread_create(&thread, NULL, sibling, NULL))
		die(96);
	pin(thread, cpus[1]);
	pin(pthread_self(), cpus[0]);
	getppid();
	raise(SIGUSR1);
	mark('1');
	plant(fresh, file, shared, cpus);
	mark('0');
	leave = true;
	return pthread_join(thread, NULL) ? 97 : 7;
}
