/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The method of sysjitter, reimplemented from its description, for comparison with lowlat's.
 *
 * Every reading and its distance to the previous one are stored in the current slot of the log; the
 * log advances by a slot when the distance reaches the threshold. The run ends when the log is
 * full. The rate is in whole MHz, measured for about 0.5 ms against gettimeofday(), until two
 * measurements in a row differ by at most 0.1 %.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>

#include "clock.h"
#include "spin.h"

#define SYSJITTER_CYCLES 1000000

struct sysjitter_slot {
	uint64_t stamp;
	uint64_t distance;
};

/* In ticks. */
struct sysjitter {
	uint64_t threshold;
	struct sysjitter_slot *log;
	size_t log_size;
	/* Output */
	size_t log_used;
	uint64_t begin;
	uint64_t end;
	uint64_t reads;
};

static inline uint64_t sysjitter_once(void)
{
	struct timeval first, last;
	uint64_t begin, now;

	gettimeofday(&first, NULL);
	begin = now = clock_counter();
	while (now - begin < SYSJITTER_CYCLES)
		now = clock_counter();
	gettimeofday(&last, NULL);
	return (now - begin) * 1000000 /
	       (uint64_t)((last.tv_sec - first.tv_sec) * 1000000 + last.tv_usec - first.tv_usec);
}

/* Returns whole megahertz. */
static inline uint64_t sysjitter_mhz(void)
{
	uint64_t hz = sysjitter_once(), previous;

	do {
		previous = hz;
		hz = sysjitter_once();
	} while ((hz > previous ? hz - previous : previous - hz) > hz / 1000);
	return hz / 1000000;
}

static inline __attribute__((always_inline)) void
sysjitter_loop(struct sysjitter *jitter, spin_read read, void *source, const atomic_bool *stop)
{
	struct sysjitter_slot *slot = jitter->log, *const full = slot + jitter->log_size;
	uint64_t last = read(source), reads = 0;

	jitter->begin = last;
	while (!atomic_load_explicit(stop, memory_order_relaxed)) {
		slot->stamp = read(source);
		slot->distance = slot->stamp - last;
		last = slot->stamp;
		reads++;
		if (slot->distance >= jitter->threshold && ++slot == full)
			break;
	}
	jitter->end = last;
	jitter->reads = reads;
	jitter->log_used = (size_t)(slot - jitter->log);
}
