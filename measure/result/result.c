/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include <errno.h>
#include <jansson.h>

#include "figures.h"
#include "result_tools.h"
#include "result_cpu.h"
#include "result_series.h"
#include "json_value.h"

#define REAL_DIGITS 12

/* Of an empty run nothing is known. */
static json_t *known(double value)
{
	return value > 0 ? json_real(value) : json_null();
}

static json_t *clock_to_json(const struct run *run)
{
	const struct means means = figures_means(run);

	return json_pack("{s:s, s:f, s:o, s:o, s:b}", "source", run->clock.name, "hz",
			 run->clock.hz, "floor_ns", known(means.floor_ns), "loop_period_ns",
			 known(means.loop_period_ns), "invariant", run->clock.invariant);
}

static json_t *policy_to_json(const struct run *run)
{
	char text[POLICY_TEXT_MAX];

	return value_text(policy_format(&run->options.policy, text));
}

static json_t *number_or_null(int64_t value)
{
	return value == THROTTLE_UNKNOWN ? json_null() : json_integer((json_int_t)value);
}

/* What bounds a real-time task here. */
static json_t *bounds_to_json(const struct run *run)
{
	const struct throttle_settings *settings = &run->throttle;

	if (run->options.policy.kind == POLICY_OTHER)
		return json_null();
	return json_pack("{s:o, s:o, s:b, s:o, s:o}", "rt_runtime_us",
			 number_or_null(settings->rt_runtime_us), "rt_period_us",
			 number_or_null(settings->rt_period_us), "fair_server",
			 settings->fair_server, "fair_runtime_ns",
			 number_or_null(settings->fair_runtime_ns), "fair_period_ns",
			 number_or_null(settings->fair_period_ns));
}

static const char *isolation_word(const struct run *run)
{
	if (!run->detectors.isolation)
		return "not offered";
	for (size_t i = 0; i < run->detectors.count; i++) {
		if (run->detectors.items[i].isolation)
			return "refused";
	}
	return "used";
}

static json_t *run_to_json(const struct run *run)
{
	json_t *root = json_object();

	json_object_set_new(root, "schema", json_string("lowlat.run/1"));
	json_object_set_new(root, "label", value_text(run->options.label));
	json_object_set_new(root, "started", value_text(run->host.started));
	json_object_set_new(root, "boot_id", value_text(run->host.boot_id));
	json_object_set_new(root, "kernel", value_text(run->host.kernel));
	json_object_set_new(root, "cmdline", value_text(run->host.cmdline));
	json_object_set_new(root, "duration_s", json_real((double)run->options.duration_ns / 1e9));
	json_object_set_new(root, "threshold_ns", json_integer((json_int_t)run->threshold_ns));
	json_object_set_new(root, "policy", policy_to_json(run));
	json_object_set_new(root, "seed", json_integer((json_int_t)run->options.seed));
	json_object_set_new(root, "emulated", json_boolean(run->host.emulated));
	json_object_set_new(root, "complete", json_boolean(run->complete));
	json_object_set_new(root, "valid", json_boolean(run->valid));
	json_object_set_new(root, "problems", value_strings(&run->problems));
	json_object_set_new(root, "isolated", value_list(&run->host.isolated));
	json_object_set_new(root, "clock", clock_to_json(run));
	json_object_set_new(root, "series", result_series(run));
	json_object_set_new(root, "cpus", result_cpus(run));
	json_object_set_new(root, "loads", result_loads(run));
	json_object_set_new(root, "oslat", result_oslat(run));
	json_object_set_new(root, "second_opinions", result_opinions(run));
	json_object_set_new(root, "work", result_works(run));
	json_object_set_new(root, "realtime_bounds", bounds_to_json(run));
	json_object_set_new(root, "task_isolation", json_string(isolation_word(run)));
	json_object_set_new(root, "harness", json_string(LOWLAT_BUILD));
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
