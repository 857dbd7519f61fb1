/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When each detector thread was taken off its CPU and put back, by perf: that needs no privileges
 * up to kernel.perf_event_paranoid 2.
 *
 * The kernel writes a record into a ring; whoever waits for the run empties it from another CPU.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* One record; ns of CLOCK_MONOTONIC_RAW. */
struct switch_record {
	uint64_t raw_ns;
	bool out;
};

/* One thread's. */
struct switches {
	unsigned int cpu;
	/* The event; -1: none. */
	int fd;
	void *ring;
	size_t ring_size;
	struct switch_record *records;
	size_t count, size;
	/* Records that found no room, in the ring or here. */
	uint64_t lost;
};

/*
 * Begins to record the switches of a thread of this process, as many as `size`, whose memory is
 * touched now. Returns 0, or -errno (-EACCES, -EPERM: kernel.perf_event_paranoid forbids it); then
 * nothing is left behind.
 */
int switches_init(pid_t thread, unsigned int cpu, size_t size, struct switches *ret);
void switches_deinit(struct switches *switches);

/* Takes the records out of the ring. No system call. */
void switches_drain(struct switches *switches);
void switches_stop(struct switches *switches);

/* Adds lines "cpu,raw_ns,out" to the file; out is 1 or 0. */
int switches_write(const struct switches *switches, FILE *file);
