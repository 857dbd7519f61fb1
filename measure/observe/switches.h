/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times when each detector thread was switched out and in, by perf, without privileges up to
 * kernel.perf_event_paranoid 2.
 *
 * The kernel writes records into a ring; the run's main thread empties it from another CPU.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* One record, in ns of CLOCK_MONOTONIC_RAW. */
struct switch_record {
	uint64_t raw_ns;
	bool out;
};

/* The records of one thread. */
struct switches {
	unsigned int cpu;
	/* The event; -1 if none. */
	int fd;
	void *ring;
	size_t ring_size;
	struct switch_record *records;
	size_t count, size;
	/* Records lost because the ring or this buffer was full. */
	uint64_t lost;
};

/*
 * Begins to record the switches of a thread of this process, at most `size`; touches their memory
 * now. Returns 0, or -errno (-EACCES, -EPERM: kernel.perf_event_paranoid forbids it) with nothing
 * left behind.
 */
int switches_init(pid_t thread, unsigned int cpu, size_t size, struct switches *ret);
void switches_deinit(struct switches *switches);

/* Takes the records out of the ring. No system call. */
void switches_drain(struct switches *switches);
void switches_stop(struct switches *switches);

/* Appends lines "cpu,raw_ns,out" to the file; out is 1 or 0. */
int switches_write(const struct switches *switches, FILE *file);
