/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"

static struct series_point *point(const struct series *series, size_t cpu, size_t step)
{
	return &series->points[cpu * SERIES_STEPS + step];
}

const struct series_point *series_point(const struct series *series, size_t cpu, size_t step)
{
	return point(series, cpu, step);
}

static void read_step(struct series *series, uint64_t at_ns)
{
	_cleanup_free_ uint32_t *counters = calloc(series->cpus->count, sizeof(*counters));
	int err = 0;

	if (series->counted)
		err = counters ? counters_read_sums(series->cpus, counters) : -ENOMEM;
	if (err)
		series->error = err;
	/* It went offline. */
	if (err == -ENXIO)
		series->counted = false;
	else if (err)
		return;
	series_add(series, at_ns, series->counted ? counters : NULL);
}

int series_init(const struct detectors *detectors, const struct cpulist *cpus, bool counted,
		struct series *ret)
{
	*ret = (struct series){
		.detectors = detectors,
		.cpus = cpus,
		.counted = counted,
		.ends_ns = calloc(SERIES_STEPS, sizeof(*ret->ends_ns)),
		.points = calloc(cpus->count * SERIES_STEPS, sizeof(*ret->points)),
		.entries = calloc(cpus->count, sizeof(*ret->entries)),
		.counters = calloc(cpus->count, sizeof(*ret->counters)),
	};
	if (!ret->ends_ns || !ret->points || !ret->entries || !ret->counters) {
		series_deinit(ret);
		return -ENOMEM;
	}
	memset(ret->ends_ns, 0xff, SERIES_STEPS * sizeof(*ret->ends_ns));
	memset(ret->points, 0xff, cpus->count * SERIES_STEPS * sizeof(*ret->points));
	read_step(ret, 0);
	return 0;
}

/* The counters are 32 bits wide, and so is a sum of them. */
static void sum(const struct counters *counters, size_t cpus, uint32_t *ret)
{
	memset(ret, 0, cpus * sizeof(*ret));
	for (size_t row = 0; row < counters->count; row++) {
		for (size_t cpu = 0; cpu < cpus; cpu++)
			ret[cpu] += (uint32_t)counters->rows[row].counts[cpu];
	}
}

void series_begin(struct series *series, const struct counter_snapshot *before)
{
	if (!series->points)
		return;
	sum(&before->interrupts, series->cpus->count, series->counters);
	memset(series->entries, 0, series->cpus->count * sizeof(*series->entries));
	series->count = 0;
	/* Of a step that did not count. */
	if (series->counted)
		series->error = 0;
	series->start_ns = before->raw_ns;
	series->step_ns = NS_PER_S;
	series->next_ns = series->start_ns + series->step_ns;
}

/* What has grown by more than half of a counter's range has shrunk: an interrupt was freed. */
static uint32_t growth(uint32_t before, uint32_t after)
{
	const uint32_t grown = after - before;

	return grown > UINT32_MAX / 2 ? 0 : grown;
}

/* Every second end goes, and with it a border between two steps. */
static void double_steps(struct series *series)
{
	series->step_ns *= 2;
	series->count /= 2;
	for (size_t step = 0; step < series->count; step++) {
		series->ends_ns[step] = series->ends_ns[2 * step + 1];
		for (size_t cpu = 0; cpu < series->cpus->count; cpu++)
			*point(series, cpu, step) = *point(series, cpu, 2 * step + 1);
	}
}

void series_add(struct series *series, uint64_t at_ns, const uint32_t *counters)
{
	for (size_t cpu = 0; cpu < series->cpus->count; cpu++) {
		const struct spin_live *live = &series->detectors->items[cpu].live;

		if (counters) {
			series->entries[cpu] += growth(series->counters[cpu], counters[cpu]);
			series->counters[cpu] = counters[cpu];
		}
		*point(series, cpu, series->count) = (struct series_point){
			.noise = atomic_load_explicit(&live->noise, memory_order_relaxed),
			.gaps = atomic_load_explicit(&live->gaps, memory_order_relaxed),
			.entries = series->entries[cpu],
		};
	}
	series->ends_ns[series->count++] = at_ns;
	if (series->count == SERIES_STEPS)
		double_steps(series);
}

void series_tick(struct series *series)
{
	const uint64_t now = clock_raw_ns();

	if (!series->points || now < series->next_ns)
		return;
	read_step(series, now - series->start_ns);
	while (series->next_ns <= now)
		series->next_ns += series->step_ns;
}

void series_end(struct series *series, const struct counter_snapshot *after)
{
	const uint64_t at_ns = after->raw_ns - series->start_ns;
	_cleanup_free_ uint32_t *counters = NULL;
	uint64_t last = 0;

	if (!series->points)
		return;
	if (series->count)
		last = series->ends_ns[series->count - 1];
	if (series->count && at_ns - last < series->step_ns / 2)
		series->count--;
	counters = calloc(series->cpus->count, sizeof(*counters));
	if (counters && after->interrupts.count)
		sum(&after->interrupts, series->cpus->count, counters);
	else
		series->counted = false;
	series_add(series, at_ns, series->counted ? counters : NULL);
}

void series_deinit(struct series *series)
{
	free(series->ends_ns);
	free(series->points);
	free(series->entries);
	free(series->counters);
	*series = (struct series){ 0 };
}
