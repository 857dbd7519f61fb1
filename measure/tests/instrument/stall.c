/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stall.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"

#define STALLS_MAX 1000000
#define REHEARSED_READS 4

static int read_plan(FILE *file, struct stalls *stalls)
{
	struct stall stall = { 0 };
	int fields;

	while ((fields = fscanf(file, "%" SCNu64 " %" SCNu64, &stall.ns, &stall.wait)) == 2) {
		if (stalls->count == STALLS_MAX || !stall.wait)
			return -EINVAL;
		stalls->items[stalls->count++] = stall;
	}
	return fields == EOF && stalls->count ? 0 : -EINVAL;
}

static void stall_by_counter(struct stall *stall, double ticks_per_ns)
{
	const uint64_t begin = clock_counter();
	const uint64_t target = begin + (uint64_t)((double)stall->ns * ticks_per_ns);
	uint64_t last = begin, longest = 0;

	while (last < target) {
		const uint64_t now = clock_counter();

		longest = now - last > longest ? now - last : longest;
		last = now;
	}
	stall->begin = begin;
	stall->end = last;
	stall->struck_ns = (uint64_t)((double)longest / ticks_per_ns);
}

static void stall_by_raw_clock(struct stall *stall)
{
	const uint64_t begin = clock_raw_ns();
	uint64_t last = begin, longest = 0;

	stall->begin = clock_counter();
	while (last - begin < stall->ns) {
		const uint64_t now = clock_raw_ns();

		longest = now - last > longest ? now - last : longest;
		last = now;
	}
	stall->end = clock_counter();
	stall->raw_ns = last - begin;
	stall->struck_ns = longest;
}

static void make(struct stall *stall, bool by_raw_clock, double ticks_per_ns)
{
	if (by_raw_clock)
		stall_by_raw_clock(stall);
	else
		stall_by_counter(stall, ticks_per_ns);
}

void stalls_next(struct stalls *stalls, uint64_t before)
{
	struct stall *stall = &stalls->items[stalls->next], rehearsal = { 0 };
	const bool by_raw_clock = stall->ns >= STALL_RAW_NS;

	stall->before = before;
	stalls->rehearsed = !stalls->rehearsed;
	if (stalls->rehearsed) {
		stalls->wait = REHEARSED_READS;
		make(&rehearsal, by_raw_clock, stalls->ticks_per_ns);
		return;
	}
	stalls->next++;
	stalls->wait = stalls_done(stalls) ? UINT64_MAX : stalls->items[stalls->next].wait;
	make(stall, by_raw_clock, stalls->ticks_per_ns);
}

int stalls_init(const char *path, double ticks_per_ns, struct stalls *ret)
{
	_cleanup_fclose_ FILE *file = fopen(path, "re");
	int err;

	*ret = (struct stalls){ .ticks_per_ns = ticks_per_ns };
	if (!file)
		return -errno;
	ret->items = calloc(STALLS_MAX, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	err = read_plan(file, ret);
	ret->wait = err ? 0 : ret->items[0].wait;
	return err;
}

int stalls_write(const struct stalls *stalls, const char *path)
{
	_cleanup_fclose_ FILE *file = fopen(path, "we");

	if (!file)
		return -errno;
	fputs("ns,begin,end,raw_ns,before,struck_ns\n", file);
	for (size_t i = 0; i < stalls->next; i++) {
		const struct stall *stall = &stalls->items[i];

		fprintf(file,
			"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			stall->ns, stall->begin, stall->end, stall->raw_ns, stall->before,
			stall->struck_ns);
	}
	return fflush(file) ? -EIO : 0;
}

void stalls_deinit(struct stalls *stalls)
{
	free(stalls->items);
	*stalls = (struct stalls){ 0 };
}
