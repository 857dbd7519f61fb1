/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include "json_value.h"
#include "steps.h"

/* The memory group that limits the load; null if there is none. */
static json_t *memgroup_to_json(const struct run *run)
{
	const double seconds = (double)(run->after.raw_ns - run->before.raw_ns) / 1e9;

	if (!run->limits.group.version)
		return json_null();
	return json_pack("{s:i, s:I, s:I, s:f}", "cgroup_version", run->limits.group.version,
			 "limit_bytes", (json_int_t)run->limits.group.limit, "oom_kills",
			 (json_int_t)run->limits.oom_kills, "major_faults_per_s",
			 seconds > 0 ? (double)run->limits.major_faults / seconds : 0);
}

static json_t *load_to_json(const struct run *run, size_t part)
{
	const struct load *load = &run->loads[part];

	return json_pack("{s:s, s:o, s:o, s:s, s:o, s:o, s:i, s:o, s:o}", "tool", "stress-ng",
			 "version", value_text(run->load_tool.version), "command",
			 value_strings(&load->command), "scenario", load->scenario->name, "cpus",
			 value_list(&run->load_parts[part]), "memory_group", memgroup_to_json(run),
			 "exit", child_exit_code(&load->child), "output",
			 value_text(load->child.file), "log", value_text(load->child.output));
}

json_t *result_loads(const struct run *run)
{
	json_t *loads = json_array();

	for (size_t i = 0; i < run->load_count; i++)
		json_array_append_new(loads, load_to_json(run, i));
	return loads;
}

json_t *result_opinion(const struct run *run, size_t tool)
{
	const struct opinion *opinion = &run->opinions[tool];

	if (!opinion->child.ended)
		return json_null();
	return json_pack("{s:s, s:s, s:o, s:o, s:i, s:o, s:o}", "tool", opinion_name(tool),
			 "version", opinion->version, "command", value_strings(&opinion->command),
			 "cpus", value_list(&run->setup.measured), "exit",
			 child_exit_code(&opinion->child), "output",
			 value_text(opinion->child.output), "json",
			 value_text(opinion->child.file));
}

json_t *result_opinions(const struct run *run)
{
	json_t *opinions = json_array();

	for (size_t tool = 0; tool < OPINION_TOOLS; tool++) {
		if (tool != OPINION_OSLAT && run->opinions[tool].child.ended)
			json_array_append_new(opinions, result_opinion(run, tool));
	}
	return opinions;
}

static json_t *work_to_json(const struct run *run, const struct work_result *result)
{
	const struct hist *hist = &result->hist;
	const bool sleeps = result->kind == WORK_USLEEP || result->kind == WORK_CLOCK_NANOSLEEP;

	return json_pack(
		"{s:s, s:o, s:o, s:b, s:b, s:i, s:o, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o}",
		"kind", work_name(result->kind), "cpus", json_sprintf("%u", result->cpu), "beside",
		value_text(result->beside), "mixed", run->options.work_mixed, "emulated",
		run->host.emulated, "requested_ns", sleeps ? WORK_SLEEP_NS : 0, "samples",
		value_count(result->time.count), "mean_ns", result->time.mean, "variance_ns2",
		moments_variance(&result->time), "min_ns", value_count(hist->min), "p50_ns",
		value_count(hist_value_at(hist, 0.5)), "p99_ns",
		value_count(hist_value_at(hist, 0.99)), "p99.9_ns",
		value_count(hist_value_at(hist, 0.999)), "max_ns", value_count(hist->max),
		"histogram", value_hist(hist));
}

static json_t *matrix_to_json(const struct run *run, size_t turn)
{
	const struct cpulist *cpus = &run->setup.measured;
	json_t *parts = json_array();

	for (size_t i = 0; i < cpus->count; i++) {
		const size_t part = turn * cpus->count + i;
		const struct load *load = &run->throughput[part];

		if (part >= run->throughput_count)
			break;
		json_array_append_new(parts, json_pack("{s:o, s:f, s:i, s:o, s:o}", "cpus",
						       json_sprintf("%u", cpus->cpus[i]), "value",
						       load_rate(load), "exit",
						       child_exit_code(&load->child), "output",
						       value_text(load->child.file), "log",
						       value_text(load->child.output)));
	}
	return json_pack("{s:f, s:o}", "value", works_rate(run, turn), "parts", parts);
}

static json_t *throughput_to_json(const struct run *run)
{
	const struct moments *products = &run->products;
	json_t *runs = json_array();

	for (size_t i = 0; i < run->throughput_count; i += run->setup.measured.count)
		json_array_append_new(runs, matrix_to_json(run, i / run->setup.measured.count));
	return json_pack("{s:s, s:o, s:s, s:o, s:o, s:s, s:I, s:f, s:f, s:o}", "kind", "throughput",
			 "cpus", value_list(&run->setup.measured), "tool", "stress-ng", "version",
			 value_text(run->load_tool.version), "command",
			 value_strings(&run->throughput[0].command), "unit", "bogo-ops/s",
			 "samples", (json_int_t)products->count, "mean", products->mean, "variance",
			 moments_variance(products), "runs", runs);
}

json_t *result_works(const struct run *run)
{
	json_t *works = json_array();

	for (size_t i = 0; i < run->work_count; i++) {
		if (!run->works[i]->error)
			json_array_append_new(works, work_to_json(run, run->works[i]));
	}
	if (run->throughput_count)
		json_array_append_new(works, throughput_to_json(run));
	return works;
}
