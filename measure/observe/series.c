/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "series.h"

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "power.h"
#include "units.h"
#include "xalloc.h"

struct series_point *series_point(const struct series *series, size_t cpu, size_t step)
{
	return &series->points[cpu * SERIES_STEPS + step];
}

/* The counters and their sum are 32 bits wide: the growth is right even across a wrap. */
static void sum(const struct counters *counters, size_t cpus, uint32_t *ret)
{
	memset(ret, 0, cpus * sizeof(*ret));
	for (size_t row = 0; row < counters->count; row++) {
		for (size_t cpu = 0; cpu < cpus; cpu++)
			ret[cpu] += (uint32_t)counters->rows[row].counts[cpu];
	}
}

static void add_sums(struct series *series, uint64_t at_ns, const struct counters *counters)
{
	_cleanup_free_ uint32_t *sums = xcalloc(series->cpus->count, sizeof(*sums));

	sum(counters, series->cpus->count, sums);
	series_add(series, at_ns, series->counted ? sums : NULL);
}

static void read_step(struct series *series, uint64_t at_ns)
{
	struct counters counters = { 0 };
	int err = 0;

	if (series->counted)
		err = counters_read("/proc/interrupts", series->cpus, &counters);
	if (err)
		series->error = err;
	/* A CPU went offline. */
	if (err == -ENXIO)
		series->counted = false;
	if (!err || err == -ENXIO)
		add_sums(series, at_ns, &counters);
	counters_deinit(&counters);
}

void series_init(const struct detectors *detectors, const struct cpulist *cpus, bool counted,
		 const char *kernel, struct series *ret)
{
	*ret = (struct series){
		.detectors = detectors,
		.cpus = cpus,
		.counted = counted,
		.clocked = counted && power_frequency_is_held(kernel) &&
			   power_frequency("", cpus->cpus[0]),
		.ends_ns = xcalloc(SERIES_STEPS, sizeof(*ret->ends_ns)),
		.points = xcalloc(cpus->count * SERIES_STEPS, sizeof(*ret->points)),
		.interrupts = xcalloc(cpus->count, sizeof(*ret->interrupts)),
		.counters = xcalloc(cpus->count, sizeof(*ret->counters)),
	};
	memset(ret->ends_ns, 0xff, SERIES_STEPS * sizeof(*ret->ends_ns));
	memset(ret->points, 0xff, cpus->count * SERIES_STEPS * sizeof(*ret->points));
	read_step(ret, 0);
}

void series_begin(struct series *series, const struct counter_snapshot *before)
{
	sum(&before->interrupts, series->cpus->count, series->counters);
	memset(series->interrupts, 0, series->cpus->count * sizeof(*series->interrupts));
	series->count = 0;
	/* From a step that was not counted. */
	if (series->counted)
		series->error = 0;
	series->start_ns = before->raw_ns;
	series->step_ns = NS_PER_S;
	series->next_ns = series->start_ns + series->step_ns;
}

/* Growth of more than half the counter's range is a decrease: an interrupt was freed. */
static uint32_t growth(uint32_t before, uint32_t after)
{
	const uint32_t grown = after - before;

	return grown > UINT32_MAX / 2 ? 0 : grown;
}

/* Removes every second end, so that two steps become one. */
static void double_steps(struct series *series)
{
	series->step_ns *= 2;
	series->count /= 2;
	for (size_t step = 0; step < series->count; step++) {
		series->ends_ns[step] = series->ends_ns[2 * step + 1];
		for (size_t cpu = 0; cpu < series->cpus->count; cpu++)
			*series_point(series, cpu, step) = *series_point(series, cpu, 2 * step + 1);
	}
}

void series_add(struct series *series, uint64_t at_ns, const uint32_t *counters)
{
	for (size_t cpu = 0; cpu < series->cpus->count; cpu++) {
		const struct spin_live *live = &series->detectors->items[cpu].live;

		if (counters) {
			series->interrupts[cpu] += growth(series->counters[cpu], counters[cpu]);
			series->counters[cpu] = counters[cpu];
		}
		*series_point(series, cpu, series->count) = (struct series_point){
			.noise = atomic_load_explicit(&live->noise, memory_order_relaxed),
			.gaps = atomic_load_explicit(&live->gaps, memory_order_relaxed),
			.interrupts = series->interrupts[cpu],
			.clean_reads =
				atomic_load_explicit(&live->clean_reads, memory_order_relaxed),
			.clean_ticks =
				atomic_load_explicit(&live->clean_ticks, memory_order_relaxed),
			.khz = series->clocked ? power_frequency("", series->cpus->cpus[cpu]) : 0,
		};
	}
	series->ends_ns[series->count++] = at_ns;
	if (series->count == SERIES_STEPS)
		double_steps(series);
}

void series_tick(struct series *series)
{
	const uint64_t now = clock_raw_ns();

	if (now < series->next_ns)
		return;
	read_step(series, now - series->start_ns);
	while (series->next_ns <= now)
		series->next_ns += series->step_ns;
}

void series_end(struct series *series, const struct counter_snapshot *after)
{
	const uint64_t at_ns = after->raw_ns - series->start_ns;

	if (series->count && at_ns - series->ends_ns[series->count - 1] < series->step_ns / 2)
		series->count--;
	series->counted &= after->interrupts.count > 0;
	add_sums(series, at_ns, &after->interrupts);
}

void series_deinit(struct series *series)
{
	free(series->ends_ns);
	free(series->points);
	free(series->interrupts);
	free(series->counters);
	*series = (struct series){ 0 };
}
