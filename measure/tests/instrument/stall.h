/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact stalls: readings of the counter with planned durations, and their measured durations.
 *
 * A plan is a text file with a line `NS READINGS` for each stall: its length in nanoseconds, and
 * how many readings pass before it. The truth is a table in ticks of the counter, see
 * stalls_write().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"

/* Stalls from this length on are timed by another clock; its reading takes too long for others. */
#define STALL_RAW_NS 10000

struct stall {
	uint64_t ns;
	uint64_t wait;
	/* Ticks: the first reading in it, and the last. */
	uint64_t begin;
	uint64_t end;
	/* By CLOCK_MONOTONIC_RAW; 0 for the short ones. */
	uint64_t raw_ns;
	/* Ticks between the two readings before it. */
	uint64_t before;
	/* The longest time between two readings in it, ns. */
	uint64_t struck_ns;
};

struct stalls {
	struct stall *items;
	size_t count;
	size_t next;
	double ticks_per_ns;
	/* Readings until the next call of stalls_next(); behind the last stall it never comes to 0. */
	uint64_t wait;
	bool rehearsed;
};

/*
 * Reads a plan. Returns 0 or -errno; stalls_deinit() is due in either case.
 *
 * ticks_per_ns: of the counter.
 */
int stalls_init(const char *path, double ticks_per_ns, struct stalls *ret);

/*
 * Writes the stalls so far: a header `ns,begin,end,raw_ns,before,struck_ns` and a row each. Returns
 * 0 or -errno.
 */
int stalls_write(const struct stalls *stalls, const char *path);

/*
 * A stall or, a few readings before it, one of no length: else cold code and memory around a stall
 * would lengthen the gap, but not its known length. before: see struct stall.
 */
void stalls_next(struct stalls *stalls, uint64_t before);

/* Whether stalls_next() is due with this reading. */
static inline bool stalls_due(struct stalls *stalls)
{
	return __builtin_expect(!--stalls->wait, 0);
}

static inline bool stalls_done(const struct stalls *stalls)
{
	return stalls->next == stalls->count;
}

void stalls_deinit(struct stalls *stalls);
