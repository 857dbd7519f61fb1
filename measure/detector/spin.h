/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop that detects gaps, and only that.
 *
 * spin_loop() is a template: each reader of a clock gets its own copy with the reading inlined. The
 * test replays recorded readings through the same code.
 */
#pragma once

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

/* Values that other threads may read while the loop runs; in ticks. */
struct spin_live {
	atomic_uint_fast64_t gaps;
	atomic_uint_fast64_t noise;
	/* As in struct spin, at the end of the last window. */
	atomic_uint_fast64_t clean_reads, clean_ticks;
	/* A reader may set it back to 0. */
	atomic_uint_fast64_t max;
};

/* All in ticks unless stated otherwise. Private to one CPU while the loop runs. */
struct spin {
	/* Input */
	uint64_t threshold;
	uint64_t duration;
	/* The length of a window, whose work is counted; 0: no windows. */
	uint64_t window;
	uint64_t levels[SPIN_LEVELS];
	/* The longest time that storing takes without interruption; at least the threshold. */
	uint64_t storing_max;
	double ns_per_tick;
	struct hist *hist;
	/* Readings per window, as if the window had no gap; NULL without windows. */
	struct hist *work;
	struct gap *log;
	size_t log_size;
	/* NULL: no other thread reads. */
	struct spin_live *live;

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
	/* Batches without a gap: their readings and time give the loop period. */
	uint64_t clean_reads;
	uint64_t clean_ticks;
	size_t log_used;
	uint64_t log_lost;
};

typedef uint64_t (*spin_read)(void *source);

static inline void spin_tell(const struct spin *spin, struct spin_live *live, uint64_t length)
{
	atomic_store_explicit(&live->gaps, spin->gaps, memory_order_relaxed);
	atomic_store_explicit(&live->noise, spin->noise, memory_order_relaxed);
	if (length > atomic_load_explicit(&live->max, memory_order_relaxed))
		atomic_store_explicit(&live->max, length, memory_order_relaxed);
}

/* Stores one gap. The caller counts the cost as dead time. */
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
	if (spin->live)
		spin_tell(spin, spin->live, length);
}

/*
 * Reads again after storing. The time since then is dead time; if the storing was interrupted, it
 * is a gap like any other.
 *
 * Returns the reading with which the loop goes on.
 */
static inline uint64_t spin_settle(struct spin *spin, spin_read read, void *source, uint64_t since)
{
	uint64_t now = read(source);

	while (now - since > spin->storing_max) {
		spin_store(spin, since, now);
		spin->reads++;
		since = now;
		now = read(source);
	}
	spin->dead += now - since;
	return now;
}

/* Handles a gap outside the loop, which stays small. */
static __attribute__((noinline, unused)) uint64_t spin_gap(struct spin *spin, spin_read read,
							   void *source, struct gap gap)
{
	spin_store(spin, gap.begin, gap.end);
	return spin_settle(spin, read, source, gap.end);
}

/*
 * Ends a window: counts the readings that it would have had at the pace of its undisturbed part. A
 * gap thus counts as noise only, and a slow clock, a slow core or a busy sibling counts here. A
 * window disturbed for more than half of its time is left out.
 */
static __attribute__((noinline, unused)) void spin_window(struct spin *spin, uint64_t clean_reads,
							  uint64_t clean_ticks)
{
	spin->clean_reads += clean_reads;
	spin->clean_ticks += clean_ticks;
	if (spin->live) {
		atomic_store_explicit(&spin->live->clean_reads, spin->clean_reads,
				      memory_order_relaxed);
		atomic_store_explicit(&spin->live->clean_ticks, spin->clean_ticks,
				      memory_order_relaxed);
	}
	if (!spin->work || !clean_ticks || clean_ticks < spin->window / 2)
		return;
	hist_add(spin->work, clean_reads * spin->window / clean_ticks);
}

#define SPIN_READ()                                                                     \
	do {                                                                            \
		const uint64_t now = read(source);                                      \
		if (__builtin_expect(now - last > limit, 0)) {                          \
			last = spin_gap(spin, read, source, (struct gap){ last, now }); \
			clean = false;                                                  \
		} else {                                                                \
			last = now;                                                     \
		}                                                                       \
	} while (0)

/*
 * Reads until `duration` has passed or *stop is set; checks both once a batch. No system call, and
 * no page fault once its memory has been touched.
 */
static inline __attribute__((always_inline)) void spin_loop(struct spin *spin, spin_read read,
							    void *source, const atomic_bool *stop)
{
	const uint64_t limit = spin->threshold;
	const uint64_t window = spin->window ? spin->window : spin->duration;
	uint64_t last = read(source), reads = 0;
	const uint64_t begin = last, end = last + spin->duration;
	bool stopped;

	for (;;) {
		const uint64_t mark = last + window < end ? last + window : end;
		uint64_t clean_reads = 0, clean_ticks = 0;

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
			stopped = atomic_load_explicit(stop, memory_order_relaxed);
		} while (last < mark && !stopped);
		spin_window(spin, clean_reads, clean_ticks);
		if (last >= end || stopped)
			break;
		last = spin_settle(spin, read, source, last);
	}
	spin->begin = begin;
	spin->end = last;
	spin->reads += reads;
}
