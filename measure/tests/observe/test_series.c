/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "series.h"
#include "tap.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "units.h"

static unsigned int ids[] = { 2, 3 };
static const struct cpulist cpus = { .cpus = ids, .count = 2 };

/* A row of two CPUs; the room for it is the caller's. */
static struct counter_snapshot counted(struct counter_row *row, uint64_t *counts, uint64_t raw_ns)
{
	*row = (struct counter_row){ .counts = counts };
	return (struct counter_snapshot){ .interrupts = { .rows = row, .count = 1 },
					  .raw_ns = raw_ns };
}

static void show(struct detector *detector, uint64_t gaps, uint64_t noise)
{
	atomic_store(&detector->live.gaps, gaps);
	atomic_store(&detector->live.noise, noise);
}

static void check(const struct series *series, size_t cpu, size_t step, struct series_point want)
{
	const struct series_point *got = series_point(series, cpu, step);

	ok(got->noise == want.noise && got->gaps == want.gaps && got->interrupts == want.interrupts,
	   "CPU %zu step %zu", cpu, step);
}

static void begin(struct series *series, struct detector *items, struct detectors *detectors)
{
	uint64_t counts[] = { 10, 4294967290 };
	struct counter_row row;
	const struct counter_snapshot before = counted(&row, counts, 5 * NS_PER_S);

	*detectors = (struct detectors){ .items = items, .count = 2 };
	series_init(detectors, &cpus, false, "", series);
	series->counted = true;
	series_begin(series, &before);
	ok(series->count == 0 && series->step_ns == NS_PER_S, "empty steps of a second");
	ok(series->next_ns == 6 * NS_PER_S, "the first ends a second after the beginning");
}

static void test_steps(void)
{
	struct detector items[2] = { 0 };
	struct detectors detectors;
	struct series series;
	uint64_t counts[] = { 30, 8 };
	struct counter_row row;
	const struct counter_snapshot after = counted(&row, counts, 5 * NS_PER_S + 2600000000);

	begin(&series, items, &detectors);
	show(&items[0], 3, 900);
	series_add(&series, NS_PER_S, (uint32_t[]){ 15, 4294967295 });
	show(&items[1], 1, 100);
	series_add(&series, 2 * NS_PER_S, (uint32_t[]){ 15, 3 });
	show(&items[0], 4, 1000);
	atomic_store(&items[0].live.clean_reads, 20);
	atomic_store(&items[0].live.clean_ticks, 170);
	series_end(&series, &after);
	ok(series.count == 3 && series.ends_ns[2] == 2600000000, "the rest is a step of its own");
	check(&series, 0, 0, (struct series_point){ .noise = 900, .gaps = 3, .interrupts = 5 });
	check(&series, 0, 1, (struct series_point){ .noise = 900, .gaps = 3, .interrupts = 5 });
	check(&series, 0, 2, (struct series_point){ .noise = 1000, .gaps = 4, .interrupts = 20 });
	ok(!series_point(&series, 0, 1)->clean_ticks &&
		   series_point(&series, 0, 2)->clean_reads == 20 &&
		   series_point(&series, 0, 2)->clean_ticks == 170,
	   "and how often it read in which time");
	/* A counter of 32 bits came round. */
	check(&series, 1, 0, (struct series_point){ .noise = 0, .gaps = 0, .interrupts = 5 });
	check(&series, 1, 1, (struct series_point){ .noise = 100, .gaps = 1, .interrupts = 9 });
	check(&series, 1, 2, (struct series_point){ .noise = 100, .gaps = 1, .interrupts = 14 });
	series_deinit(&series);
}

static void test_a_short_rest_joins_the_step_before(void)
{
	struct detector items[2] = { 0 };
	struct detectors detectors;
	struct series series;
	uint64_t counts[] = { 12, 4294967290 };
	struct counter_row row;
	const struct counter_snapshot after = counted(&row, counts, 5 * NS_PER_S + 1400000000);

	begin(&series, items, &detectors);
	series_add(&series, NS_PER_S, (uint32_t[]){ 11, 4294967290 });
	show(&items[0], 7, 70);
	series_end(&series, &after);
	ok(series.count == 1 && series.ends_ns[0] == 1400000000, "one step");
	check(&series, 0, 0, (struct series_point){ .noise = 70, .gaps = 7, .interrupts = 2 });
	series_deinit(&series);
}

static void test_an_interrupt_that_was_freed_counts_nothing(void)
{
	struct detector items[2] = { 0 };
	struct detectors detectors;
	struct series series;

	begin(&series, items, &detectors);
	series_add(&series, NS_PER_S, (uint32_t[]){ 25, 4294967290 });
	series_add(&series, 2 * NS_PER_S, (uint32_t[]){ 5, 4294967290 });
	series_add(&series, 3 * NS_PER_S, (uint32_t[]){ 8, 4294967290 });
	check(&series, 0, 1, (struct series_point){ .noise = 0, .gaps = 0, .interrupts = 15 });
	check(&series, 0, 2, (struct series_point){ .noise = 0, .gaps = 0, .interrupts = 18 });
	series_deinit(&series);
}

static void test_a_long_run_has_longer_steps(void)
{
	struct detector items[2] = { 0 };
	struct detectors detectors;
	struct series series;
	uint64_t gaps = 0;

	begin(&series, items, &detectors);
	for (uint64_t second = 1; second <= 3600; second++) {
		gaps += second;
		if (second * NS_PER_S % series.step_ns)
			continue;
		show(&items[0], gaps, 10 * gaps);
		series_add(&series, second * NS_PER_S, (uint32_t[]){ 10, 0 });
	}
	ok(series.step_ns == 8 * NS_PER_S && series.count == 450, "an hour in steps of 8 s");
	for (size_t step = 0; step < series.count; step++) {
		const uint64_t end = 8 * (step + 1), sum = end * (end + 1) / 2;
		const struct series_point *point = series_point(&series, 0, step);

		if (series.ends_ns[step] != end * NS_PER_S || point->gaps != sum ||
		    point->noise != 10 * sum)
			ok(false, "step %zu", step);
	}
	series_deinit(&series);
}

static void test_without_counters(void)
{
	struct detector items[2] = { 0 };
	struct detectors detectors;
	struct series series;
	const struct counter_snapshot none = { .raw_ns = 7 * NS_PER_S };

	begin(&series, items, &detectors);
	series_end(&series, &none);
	ok(series.count == 1 && !series.counted, "without counters the gaps are left");
	series_deinit(&series);
}

/* A CPU that is not there has no column. */
static void test_a_failed_read_costs_one_step(void)
{
	struct detector items[2] = { 0 };
	struct detectors detectors = { .items = items, .count = 1 };
	unsigned int here = (unsigned int)sched_getcpu(), none = CPULIST_MAX;
	struct cpulist one = { .cpus = &here, .count = 1 };
	uint64_t counts[] = { 0 };
	struct counter_row row;
	const struct counter_snapshot before = counted(&row, counts, clock_raw_ns() - 9 * NS_PER_S);
	struct rlimit files, no_files;
	struct series series;

	series_init(&detectors, &one, true, "", &series);
	series_begin(&series, &before);
	getrlimit(RLIMIT_NOFILE, &files);
	no_files = (struct rlimit){ 0, files.rlim_max };
	setrlimit(RLIMIT_NOFILE, &no_files);
	series_tick(&series);
	setrlimit(RLIMIT_NOFILE, &files);
	ok(series.count == 0 && series.counted && series.error == -EMFILE, "no step without");
	series.next_ns = 0;
	series_tick(&series);
	ok(series.count == 1 && series.counted && series.error, "the next one has both");
	here = none;
	series.next_ns = 0;
	series_tick(&series);
	ok(series.count == 2 && !series.counted && series.error == -ENXIO, "offline");
	series_deinit(&series);
}

static void test_all_memory_is_there_from_the_start(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct detector items[2] = { 0 };
	struct detectors detectors;
	struct series series;
	size_t missing = 0;
	char *end;

	begin(&series, items, &detectors);
	end = (char *)(series.points + cpus.count * SERIES_STEPS);
	for (char *at = (char *)((uintptr_t)series.points / page * page); at < end; at += page) {
		unsigned char present = 0;

		missing += mincore(at, page, &present) || !(present & 1);
	}
	ok(!missing, "%zu pages are to come", missing);
	series_deinit(&series);
}

int main(void)
{
	test_steps();
	test_a_short_rest_joins_the_step_before();
	test_an_interrupt_that_was_freed_counts_nothing();
	test_a_long_run_has_longer_steps();
	test_without_counters();
	test_a_failed_read_costs_one_step();
	test_all_memory_is_there_from_the_start();
	return tap_end();
}
