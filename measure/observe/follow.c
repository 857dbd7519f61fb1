/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "follow.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cleanup.h"
#include "json_value.h"
#include "text.h"
#include "units.h"
#include "xalloc.h"

#define REAL_DIGITS 9

/* "nonvoluntary_ctxt_switches:	12" (proc_pid_status(5)) */
static uint64_t read_switches(const struct detector *detector)
{
	_cleanup_free_ char *status =
		text_read_trimmed("/proc/self/task/%d/status", (int)detector->tid);

	return text_count_after(status, "\nvoluntary_ctxt_switches:") +
	       text_count_after(status, "\nnonvoluntary_ctxt_switches:");
}

static struct follow_cpu take(const struct detector *detector)
{
	return (struct follow_cpu){
		.gaps = atomic_load_explicit(&detector->live.gaps, memory_order_relaxed),
		.noise = atomic_load_explicit(&detector->live.noise, memory_order_relaxed),
		.switches = read_switches(detector),
	};
}

int follow_init(struct detectors *detectors, const struct cpulist *cpus, struct follow *ret)
{
	int err;

	*ret = (struct follow){
		.detectors = detectors,
		.cpus = cpus,
		.before = xcalloc(detectors->count, sizeof(*ret->before)),
		.start_ns = clock_raw_ns(),
	};
	ret->next_ns = ret->start_ns + NS_PER_S;
	/* Else the first object would write to a page shared with the reapers: an interrupt. */
	json_object_seed(0);
	err = counter_snapshot_take(cpus, &ret->counters);
	for (size_t i = 0; i < detectors->count; i++)
		ret->before[i].switches = read_switches(&detectors->items[i]);
	return err;
}

static json_t *growth_to_json(const struct counters *before, const struct counters *after,
			      size_t column)
{
	json_t *rows = json_object();

	for (size_t i = 0; i < after->count; i++) {
		const uint64_t count = counters_growth(before, after, i, column);

		if (count)
			json_object_set_new(rows, after->rows[i].label, value_count(count));
	}
	return rows;
}

static json_t *cpu_to_json(struct follow *follow, const struct counter_snapshot *now, size_t index,
			   double interval_ns)
{
	struct detector *detector = &follow->detectors->items[index];
	const struct clock_source *clock = follow->detectors->clock;
	const struct follow_cpu after = take(detector), before = follow->before[index];
	const double noise = clock_ns(clock, (double)(after.noise - before.noise));
	const uint64_t max = atomic_exchange_explicit(&detector->live.max, 0, memory_order_relaxed);

	follow->before[index] = after;
	return json_pack("{s:i, s:I, s:I, s:f, s:I, s:I, s:o, s:o}", "cpu", (int)detector->cpu,
			 "gaps", (json_int_t)(after.gaps - before.gaps), "noise_ns",
			 (json_int_t)noise, "noise_ppm", 1e6 * noise / interval_ns, "max_ns",
			 (json_int_t)clock_ns(clock, (double)max), "switches",
			 (json_int_t)(after.switches - before.switches), "interrupts",
			 growth_to_json(&follow->counters.interrupts, &now->interrupts, index),
			 "softirqs",
			 growth_to_json(&follow->counters.softirqs, &now->softirqs, index));
}

static int write_line(json_t *line)
{
	const size_t flags = JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(REAL_DIGITS);

	errno = 0;
	if (!json_dumpf(line, stdout, flags) && putchar('\n') != EOF && !fflush(stdout))
		return 0;
	return errno ? -errno : -EIO;
}

static bool has_room(int fd)
{
	struct pollfd reader = { .fd = fd, .events = POLLOUT };

	return poll(&reader, 1, 0) != 0;
}

int follow_tick(struct follow *follow)
{
	const uint64_t at_ns = clock_raw_ns();
	struct counter_snapshot now;
	double interval_ns;
	json_t *line, *cpus;
	int err;

	if (!follow->before || at_ns < follow->next_ns)
		return 0;
	while (follow->next_ns <= at_ns)
		follow->next_ns += NS_PER_S;
	if (!has_room(STDOUT_FILENO))
		return 0;
	err = counter_snapshot_take(follow->cpus, &now);
	if (err) {
		counter_snapshot_deinit(&now);
		return err;
	}
	interval_ns = (double)(now.raw_ns - follow->counters.raw_ns);
	cpus = json_array();
	for (size_t i = 0; i < follow->detectors->count; i++)
		json_array_append_new(cpus, cpu_to_json(follow, &now, i, interval_ns));
	line = json_pack("{s:s, s:f, s:f, s:o}", "schema", "lowlat.follow/1", "time_s",
			 (double)(now.raw_ns - follow->start_ns) / 1e9, "interval_s",
			 interval_ns / 1e9, "cpus", cpus);
	counter_snapshot_deinit(&follow->counters);
	follow->counters = now;
	err = write_line(line);
	json_decref(line);
	return err;
}

void follow_deinit(struct follow *follow)
{
	free(follow->before);
	counter_snapshot_deinit(&follow->counters);
	*follow = (struct follow){ 0 };
}
