/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include <errno.h>
#include <inttypes.h>

#include "cleanup.h"
#include "figures.h"
#include "json_value.h"
#include "steps.h"
#include "xalloc.h"

#define REAL_DIGITS 12

/* The means over the measured CPUs; null in an empty run, which knows none. */
static json_t *clock_to_json(const struct run *run)
{
	double floor = 0, period = 0, count = 0;

	for (size_t i = 0; i < run->detectors.count; i++) {
		const struct figures one = figures_of(run, &run->detectors.items[i]);

		if (!run->detectors.items[i].measured)
			continue;
		count++;
		floor += one.floor_ns;
		period += one.loop_period_ns;
	}
	return json_pack("{s:s, s:f, s:o?, s:o?, s:b}", "source", run->clock.name, "hz",
			 run->clock.hz, "floor_ns", floor > 0 ? json_real(floor / count) : NULL,
			 "loop_period_ns", period > 0 ? json_real(period / count) : NULL,
			 "invariant", run->clock.invariant);
}

static json_t *series_to_json(const struct run *run)
{
	const struct series *series = &run->series;
	json_t *ends;

	if (!series->count)
		return json_null();
	ends = json_array();
	for (size_t step = 0; step < series->count; step++)
		json_array_append_new(ends, json_real((double)series->ends_ns[step] / 1e9));
	return json_pack("{s:f, s:o}", "step_s", (double)series->step_ns / 1e9, "ends_s", ends);
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

/* lowlat-gen adds the other facts of the host. */
static json_t *host_to_json(const struct host *host)
{
	return json_pack("{s:o}", "name", *host->name ? value_text(host->name) : json_null());
}

static json_t *run_to_json(const struct run *run)
{
	json_t *root = json_object();
	char policy[POLICY_TEXT_MAX];

	policy_format(&run->options.policy, policy);
	json_object_set_new(root, "schema", json_string("lowlat.run/1"));
	json_object_set_new(root, "label", value_text(run->options.label));
	json_object_set_new(root, "started", value_text(run->host.started));
	json_object_set_new(root, "boot_id", value_text(run->host.boot_id));
	json_object_set_new(root, "kernel", value_text(run->host.kernel));
	json_object_set_new(root, "cmdline", value_text(run->host.cmdline));
	json_object_set_new(root, "duration_s", json_real((double)run->options.duration_ns / 1e9));
	json_object_set_new(root, "threshold_ns", value_count(run->threshold_ns));
	json_object_set_new(root, "policy", json_string(policy));
	json_object_set_new(root, "seed", value_count(run->options.seed));
	json_object_set_new(root, "emulated", json_boolean(run->host.emulated));
	json_object_set_new(root, "complete", json_boolean(run->complete));
	json_object_set_new(root, "valid", json_boolean(run->valid));
	json_object_set_new(root, "problems", value_strings(&run->problems));
	json_object_set_new(root, "isolated", value_list(&run->host.isolated));
	json_object_set_new(root, "clock", clock_to_json(run));
	json_object_set_new(root, "series", series_to_json(run));
	json_object_set_new(root, "cpus", result_cpus(run));
	json_object_set_new(root, "loads", result_loads(run));
	json_object_set_new(root, "oslat", result_opinion(run, OPINION_OSLAT));
	json_object_set_new(root, "second_opinions", result_opinions(run));
	json_object_set_new(root, "work", result_works(run));
	json_object_set_new(root, "task_isolation", json_string(isolation_word(run)));
	json_object_set_new(root, "harness", json_string(LOWLAT_BUILD));
	json_object_set_new(root, "host", host_to_json(&run->host));
	return root;
}

int result_write(const struct run *run, FILE *file)
{
	const size_t flags = JSON_INDENT(2) | JSON_PRESERVE_ORDER |
			     JSON_REAL_PRECISION(REAL_DIGITS);
	json_t *root = run_to_json(run);
	const bool failed = json_dumpf(root, file, flags) || fputc('\n', file) == EOF;

	json_decref(root);
	return failed ? -EIO : 0;
}

/* Each CPU's log is in order already. Returns the CPU whose next gap is first; count if none. */
static size_t earliest(const struct detectors *detectors, const size_t *next)
{
	size_t best = detectors->count;

	for (size_t i = 0; i < detectors->count; i++) {
		const struct spin *spin = &detectors->items[i].spin;

		if (next[i] >= spin->log_used)
			continue;
		if (best == detectors->count ||
		    spin->log[next[i]].begin < detectors->items[best].spin.log[next[best]].begin)
			best = i;
	}
	return best;
}

int events_write(const struct run *run, FILE *file)
{
	const struct detectors *detectors = &run->detectors;
	_cleanup_free_ size_t *next = xcalloc(detectors->count, sizeof(*next));

	fputs("cpu,begin,end\n", file);
	for (size_t i = earliest(detectors, next); i < detectors->count;
	     i = earliest(detectors, next)) {
		const struct detector *detector = &detectors->items[i];
		const struct gap *gap = &detector->spin.log[next[i]++];

		fprintf(file, "%u,%" PRIu64 ",%" PRIu64 "\n", detector->cpu, gap->begin, gap->end);
	}
	return ferror(file) ? -EIO : 0;
}
