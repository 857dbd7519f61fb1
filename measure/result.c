/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "cleanup.h"
#include "figures.h"

#define REAL_DIGITS 12

/* Text of other programs may be anything; what is no UTF-8 becomes '?'. */
static json_t *to_json(const char *text)
{
	_cleanup_free_ char *copy = NULL;
	json_t *string;

	if (!text)
		return json_null();
	string = json_string(text);
	if (string)
		return string;
	copy = strdup(text);
	for (char *c = copy; c && *c; c++) {
		if ((unsigned char)*c >= 0x80)
			*c = '?';
	}
	return json_string(copy ? copy : "");
}

static json_t *list_to_json(const struct cpulist *list)
{
	_cleanup_free_ char *text = cpulist_format(list);

	return to_json(text);
}

static json_t *strings_to_json(const struct strings *strings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < strings->count; i++)
		json_array_append_new(array, to_json(strings->items[i]));
	return array;
}

/* Whole nanoseconds: what lies below is noise of the clock itself. */
static json_t *whole(double value)
{
	return json_integer(llround(value));
}

/* Of an empty run nothing is known. */
static json_t *known(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static json_t *clock_to_json(const struct run *run)
{
	return json_pack("{s:s, s:f, s:o, s:o}", "source", run->clock.name, "hz", run->clock.hz,
			 "floor_ns", known(figures_mean_floor(run)), "loop_period_ns",
			 known(figures_mean_period(run)));
}

static json_t *rates_to_json(const struct run *run, const struct detector *detector)
{
	static const char *const names[SPIN_LEVELS] = { "100ns", "1us", "10us", "100us" };
	const double seconds = figures_of(run, detector).runtime_ns / 1e9;
	json_t *rates = json_object();

	for (int i = 0; i < SPIN_LEVELS; i++) {
		/* What the threshold hid is unknown, not zero. */
		const bool seen = run_levels_ns[i] >= run->threshold_ns && seconds > 0;
		const double count = (double)detector->spin.over[i];

		json_object_set_new(rates, names[i],
				    seen ? json_real(count / seconds) : json_null());
	}
	return rates;
}

static json_t *percentiles_to_json(const struct run *run, const struct detector *detector)
{
	static const struct {
		const char *name;
		double quantile;
	} wanted[] = {
		{ "p99", 0.99 },
		{ "p99.9", 0.999 },
		{ "p99.99", 0.9999 },
		{ "p99.9999", 0.999999 },
	};
	const double runtime = figures_of(run, detector).runtime_ns;
	json_t *percentiles = json_object();

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const double delay =
			hist_time_weighted(detector->spin.hist, wanted[i].quantile, runtime);

		json_object_set_new(percentiles, wanted[i].name, json_real(delay));
	}
	return percentiles;
}

static json_t *hist_to_json(const struct hist *hist)
{
	json_t *counts = json_array();
	struct hist_bucket bucket;
	size_t cursor = 0;

	while (hist_next(hist, &cursor, &bucket))
		json_array_append_new(counts, json_pack("[I, I, I]", (json_int_t)bucket.lower,
							(json_int_t)bucket.upper,
							(json_int_t)bucket.count));
	return json_pack("{s:s, s:o}", "unit", "ns", "counts", counts);
}

/* Rows that did not grow are left out; they add nothing to the total. */
static json_t *growth_to_json(const struct run *run, const struct counters *before,
			      const struct counters *after, size_t column, bool total)
{
	json_t *rows = json_object();
	double sum = 0;

	if (!run->counters_valid) {
		json_decref(rows);
		return json_null();
	}
	for (size_t i = 0; i < after->count; i++) {
		const double rate = figures_rate(run, before, after, i, column);

		if (rate > 0)
			json_object_set_new(rows, after->rows[i].label, json_real(rate));
		sum += rate;
	}
	if (total)
		json_object_set_new(rows, "total", json_real(sum));
	return rows;
}

static void add_counters(json_t *cpu, const struct run *run, size_t column)
{
	json_object_set_new(cpu, "kernel_entries_per_s",
			    growth_to_json(run, &run->before.interrupts, &run->after.interrupts,
					   column, true));
	json_object_set_new(cpu, "softirqs_per_s",
			    growth_to_json(run, &run->before.softirqs, &run->after.softirqs, column,
					   false));
}

static json_t *cpu_to_json(const struct run *run, const struct detector *detector, size_t column)
{
	const struct figures figures = figures_of(run, detector);
	json_t *cpu = json_object();

	json_object_set_new(cpu, "cpu", json_integer((json_int_t)detector->cpu));
	json_object_set_new(cpu, "runtime_ns", whole(figures.runtime_ns));
	json_object_set_new(cpu, "noise_ns", whole(figures.noise_ns));
	json_object_set_new(cpu, "noise_ppm", json_real(figures.noise_ppm));
	json_object_set_new(cpu, "dead_ns", whole(figures.dead_ns));
	json_object_set_new(cpu, "events", json_integer((json_int_t)detector->spin.gaps));
	json_object_set_new(cpu, "lost_events", json_integer((json_int_t)detector->spin.log_lost));
	json_object_set_new(cpu, "max_ns", whole(figures.max_ns));
	json_object_set_new(cpu, "rates_per_s", rates_to_json(run, detector));
	json_object_set_new(cpu, "time_weighted_ns", percentiles_to_json(run, detector));
	json_object_set_new(cpu, "histogram", hist_to_json(detector->spin.hist));
	json_object_set_new(cpu, "page_faults", json_integer(detector->page_faults));
	json_object_set_new(cpu, "causes", json_array());
	add_counters(cpu, run, column);
	json_object_set_new(cpu, "switches_per_s", json_real(figures.switches_per_s));
	json_object_set_new(cpu, "soft", json_null());
	return cpu;
}

static json_t *cpus_to_json(const struct run *run)
{
	json_t *cpus = json_array();

	for (size_t i = 0; i < run->detectors.count; i++) {
		if (run->detectors.items[i].measured)
			json_array_append_new(cpus, cpu_to_json(run, &run->detectors.items[i], i));
	}
	return cpus;
}

static json_t *loads_to_json(const struct run *run)
{
	json_t *loads = json_array(), *load;

	if (!run->load_started)
		return loads;
	load = json_pack("{s:s, s:s, s:o, s:s, s:o, s:i, s:o, s:o}", "tool", "stress-ng", "version",
			 run->load.version, "command", strings_to_json(&run->load.command),
			 "scenario", load_scenario_name(run->load.scenario), "cpus",
			 list_to_json(&run->setup.load), "exit", child_exit_code(&run->load.child),
			 "output", to_json(run->load.metrics), "log", to_json(run->load.log));
	json_array_append_new(loads, load);
	return loads;
}

static json_t *oslat_to_json(const struct run *run)
{
	if (!run->oslat_started)
		return json_null();
	return json_pack("{s:s, s:o, s:i, s:o, s:o}", "version", run->oslat.version, "command",
			 strings_to_json(&run->oslat.command), "exit",
			 child_exit_code(&run->oslat.child), "output", to_json(run->oslat.output),
			 "json", to_json(run->oslat.json));
}

static json_t *policy_to_json(const struct run *run)
{
	if (run->options.fifo_priority)
		return json_sprintf("fifo:%d", run->options.fifo_priority);
	return json_string("other");
}

static json_t *run_to_json(const struct run *run)
{
	json_t *root = json_object();

	json_object_set_new(root, "schema", json_string("lowlat.run/1"));
	json_object_set_new(root, "label", to_json(run->options.label));
	json_object_set_new(root, "started", to_json(run->host.started));
	json_object_set_new(root, "boot_id", to_json(run->host.boot_id));
	json_object_set_new(root, "kernel", to_json(run->host.kernel));
	json_object_set_new(root, "cmdline", to_json(run->host.cmdline));
	json_object_set_new(root, "duration_s", json_real((double)run->options.duration_ns / 1e9));
	json_object_set_new(root, "threshold_ns", json_integer((json_int_t)run->threshold_ns));
	json_object_set_new(root, "policy", policy_to_json(run));
	json_object_set_new(root, "seed", json_integer((json_int_t)run->options.seed));
	json_object_set_new(root, "emulated", json_boolean(run->host.emulated));
	json_object_set_new(root, "complete", json_boolean(run->complete));
	json_object_set_new(root, "valid", json_boolean(run->valid));
	json_object_set_new(root, "problems", strings_to_json(&run->problems));
	json_object_set_new(root, "isolated", list_to_json(&run->host.isolated));
	json_object_set_new(root, "clock", clock_to_json(run));
	json_object_set_new(root, "cpus", cpus_to_json(run));
	json_object_set_new(root, "loads", loads_to_json(run));
	json_object_set_new(root, "oslat", oslat_to_json(run));
	json_object_set_new(root, "work", json_array());
	return root;
}

int result_write(const struct run *run, FILE *file)
{
	const size_t flags = JSON_INDENT(2) | JSON_PRESERVE_ORDER |
			     JSON_REAL_PRECISION(REAL_DIGITS);
	json_t *root = run_to_json(run);
	int err = root ? json_dumpf(root, file, flags) : -1;

	json_decref(root);
	if (err)
		return root ? -EIO : -ENOMEM;
	return fputc('\n', file) == EOF ? -EIO : 0;
}
