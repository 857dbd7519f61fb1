/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A memmove() that stalls, for `LD_PRELOAD=memmove.so oslat --workload memmove`.
 *
 * oslat calls it once in each turn of its loop. STALL_PLAN and STALL_TRUTH name the files of
 * stall.h, STALL_SIZE the bytes of oslat's --workload-mem, which identify its calls. oslat's first
 * thread preheats; the stalls are in its second one, which counts.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stall.h"

#define SETTLE_US 60000
#define COUNTING_THREAD 2

static struct stalls stalls;
static size_t stalling_size;
static atomic_int threads;
static _Thread_local int thread;
static _Thread_local uint64_t last;

__attribute__((visibility("default"))) void *memmove(void *to, const void *from, size_t size);

__attribute__((constructor)) static void begin(void)
{
	const char *plan = getenv("STALL_PLAN"), *size = getenv("STALL_SIZE");
	struct clock_source clock;

	if (!plan || !size)
		return;
	clock_init(&clock);
	usleep(SETTLE_US);
	clock_calibrate(&clock);
	if (!stalls_init(plan, clock.hz / 1e9, &stalls))
		stalling_size = strtoul(size, NULL, 10);
}

__attribute__((destructor)) static void end(void)
{
	const char *truth = getenv("STALL_TRUTH");

	if (truth && stalling_size)
		stalls_write(&stalls, truth);
}

static void move(void *to, const void *from, size_t size)
{
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#else
	for (size_t i = 0; i < size; i++)
		((volatile char *)to)[i] = ((const char *)from)[i];
#endif
}

static void move_down(char *to, const char *from, size_t size)
{
	while (size--)
		((volatile char *)to)[size] = from[size];
}

static void stall_if_due(void)
{
	const uint64_t now = clock_counter();

	if (!thread)
		thread = ++threads;
	if (thread == COUNTING_THREAD && stalls_due(&stalls))
		stalls_next(&stalls, now - last);
	last = now;
}

void *memmove(void *to, const void *from, size_t size)
{
	if (size && size == stalling_size)
		stall_if_due();
	if ((uintptr_t)to - (uintptr_t)from < size)
		move_down(to, from, size);
	else
		move(to, from, size);
	return to;
}
