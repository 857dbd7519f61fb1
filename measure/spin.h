/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop that sees gaps, and nothing else.
 *
 * spin_loop() is a template: each reader of a clock gets its own copy with the reading inlined.
 * The test replays recorded readings through the same code.
 */
#ifndef LOWLAT_SPIN_H
#define LOWLAT_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hist.h"

#define SPIN_LEVELS 4
#define SPIN_BATCH 8

/* A gap, in ticks of the run's clock. */
struct gap {
	uint64_t begin;
	uint64_t end;
};

/* All in ticks unless said otherwise. One CPU's own; nobody else reads it while the loop runs. */
struct spin {
	/* Input */
	uint64_t threshold;
	uint64_t duration;
	uint64_t levels[SPIN_LEVELS];
	double ns_per_tick;
	struct hist *hist;
	struct gap *log;
	size_t log_size;

	/* Output */
	uint64_t begin;
	uint64_t end;
	uint64_t reads;
	uint64_t gaps;
	uint64_t noise;
	uint64_t dead;
	uint64_t max;
	uint64_t over[SPIN_LEVELS];
	/* Readings that went backwards: a broken clock. */
	uint64_t backwards;
	/* Batches without a gap: their readings and time give the period, apart from the gaps. */
	uint64_t clean_reads;
	uint64_t clean_ticks;
	size_t log_used;
	uint64_t log_lost;
};

typedef uint64_t (*spin_read)(void *source);

/* Stores one gap. Its own cost is the caller's dead time. */
static inline void spin_store(struct spin *spin, uint64_t begin, uint64_t end)
{
	const uint64_t length = end - begin;

	if (end < begin) {
		spin->backwards++;
		return;
	}
	spin->gaps++;
	spin->noise += length;
	if (length > spin->max)
		spin->max = length;
	for (int i = 0; i < SPIN_LEVELS; i++)
		spin->over[i] += length > spin->levels[i];
	hist_add(spin->hist, (uint64_t)((double)length * spin->ns_per_tick));
	if (spin->log_used < spin->log_size)
		spin->log[spin->log_used++] = (struct gap){ begin, end };
	else if (spin->log_size)
		spin->log_lost++;
}

#define SPIN_READ()                                            \
	do {                                                   \
		const uint64_t now = read(source);             \
		if (__builtin_expect(now - last > limit, 0)) { \
			spin_store(spin, last, now);           \
			last = read(source);                   \
			spin->dead += last - now;              \
			clean = false;                         \
		} else {                                       \
			last = now;                            \
		}                                              \
	} while (0)

/*
 * Reads until `duration` has passed or *stop is set; looks at both once a batch. No system call,
 * no page fault once its memory has been touched.
 */
static inline __attribute__((always_inline)) void spin_loop(struct spin *spin, spin_read read,
							    void *source, const atomic_bool *stop)
{
	const uint64_t limit = spin->threshold;
	uint64_t last = read(source), reads = 0, clean_reads = 0, clean_ticks = 0;
	const uint64_t begin = last, end = last + spin->duration;

	do {
		const uint64_t first = last;
		bool clean = true;

		SPIN_READ();
		SPIN_READ();
		SPIN_READ();
		SPIN_READ();
		SPIN_READ();
		SPIN_READ();
		SPIN_READ();
		SPIN_READ();
		reads += SPIN_BATCH;
		if (__builtin_expect(clean, 1)) {
			clean_reads += SPIN_BATCH;
			clean_ticks += last - first;
		}
	} while (last < end && !atomic_load_explicit(stop, memory_order_relaxed));
	spin->begin = begin;
	spin->end = last;
	spin->reads = reads;
	spin->clean_reads = clean_reads;
	spin->clean_ticks = clean_ticks;
}

#endif
