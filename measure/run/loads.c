/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"
#include "waits.h"
#include "xalloc.h"

/* For the start, the warm-ups of the second opinions, and slow machines. */
#define LOAD_SLACK_NS (120 * NS_PER_S)
#define GRACE_NS (60 * NS_PER_S)

int loads_prepare(struct run *run)
{
	const struct load_scenario *load = run->options.load;
	int err;

	if (!load)
		return 0;
	err = load_limits_init(load, run->setup.load.count, run->host.memory_available,
			       &run->limits);
	if (!err && scratch_in_memory(&run->limits.scratch))
		run_note(run,
			 "--load %s: its files lie in memory, not on a disk; name a folder on "
			 "one in TMPDIR",
			 load->name);
	return err;
}

static int start_part(struct run *run, size_t part)
{
	const bool disk = run->limits.scratch.path[0] != '\0';
	const struct load_options options = {
		.scenario = run->options.load,
		.tool = &run->load_tool,
		.part = part,
		.cpus = &run->load_parts[part],
		.confined = cpulist_outside(&run->host.allowed, &run->load_parts[part]),
		.scratch = disk ? &run->limits.scratch : &run->scratch,
		.group = &run->limits.group,
		.seed = run->options.seed,
		.memory = run->limits.memory / run->load_part_count,
		.disk = run->limits.disk / run->load_part_count,
		.limit_ns = run->options.warmup_ns + run->options.duration_ns +
			    opinions_longest_ns(run) + works_longest_ns(run) +
			    wakeups_longest_ns(run) + LOAD_SLACK_NS,
	};
	struct load *load = &run->loads[part];
	int err = load_start(&options, load);

	for (size_t i = 0; !err && part == 0 && i < load->missing.count; i++)
		run_note(run, "--load %s: this stress-ng (%s) has no --%s", options.scenario->name,
			 run->load_tool.version, load->missing.items[i]);
	return err;
}

void loads_start(struct run *run)
{
	int err;

	if (!run->options.load)
		return;
	err = load_tool_init(&run->scratch, &run->load_tool);
	run->load_part_count = load_split(&run->setup.load, &run->host.isolated, &run->load_parts);
	run->loads = xcalloc(run->load_part_count, sizeof(*run->loads));
	while (!err && run->load_count < run->load_part_count) {
		err = start_part(run, run->load_count);
		run->load_count += !err;
	}
	if (err == -ENOENT)
		run_partial(run,
			    "--load %s: stress-ng is not installed, so the run had no load; "
			    "install stress-ng",
			    run->options.load->name);
	else if (err)
		run_partial(run, "--load %s: stress-ng could not be started (%s)",
			    run->options.load->name, strerror(-err));
}

static void report_load(struct run *run, const struct load *load, bool early)
{
	_cleanup_free_ char *complaint = load_complaint(load);
	const int code = child_exit_code(&load->child);
	/* stress-ng(1): "one or more stressors failed", "bogo ops metrics maybe untrustworthy". */
	const bool miscounted = code == 2 || code == 7;

	if (load->child.truncated)
		run_truncated(run, "stress-ng");
	if (run->interrupted || (code == 0 && !early && load->child.file))
		return;
	/* A stressor that is stopped midway may have a wrong count. */
	if (miscounted && !early && load->child.file)
		run_note(run,
			 "stress-ng doubts its own counts (status %d: %s); the load ran, but "
			 "its throughput may be wrong",
			 code, complaint ? complaint : "no message");
	else if (early)
		run_partial(run,
			    "stress-ng ended before the run did (status %d), so part of it had no "
			    "load",
			    code);
	else
		run_partial(run, "stress-ng failed at its end (status %d)%s%s", code,
			    load->child.late ? ", too late" : "",
			    load->child.file ? "" : ", without metrics");
}

static void report_kills(struct run *run)
{
	const bool wanted = run->options.load->exhausts;
	const uint64_t kills = run->limits.oom_kills;

	if (run->interrupted || wanted == (kills > 0))
		return;
	if (wanted)
		run_partial(run,
			    "--load %s: no process ran out of memory, so the load was lower "
			    "than requested",
			    run->options.load->name);
	else
		run_partial(run,
			    "%" PRIu64 " processes of the load were killed at its limit of "
			    "%" PRIu64 " MiB",
			    kills, run->limits.group.limit >> 20);
}

void loads_end(struct run *run)
{
	const uint64_t grace = run->interrupted ? GRACE_INTERRUPTED_NS : GRACE_NS;
	_cleanup_free_ bool *early = xcalloc(run->load_count, sizeof(*early));

	for (size_t i = 0; i < run->load_count; i++) {
		early[i] = child_ended(&run->loads[i].child);
		child_finish(&run->loads[i].child, grace);
	}
	for (size_t i = 0; i < run->load_count; i++) {
		run_wait_child(run, &run->loads[i].child);
		report_load(run, &run->loads[i], early[i]);
	}
	run->limits.oom_kills = memgroup_kills(&run->limits.group);
	if (run->load_count)
		report_kills(run);
	load_limits_deinit(&run->limits);
}

void loads_deinit(struct run *run)
{
	for (size_t i = 0; i < run->load_count; i++)
		load_deinit(&run->loads[i]);
	free(run->loads);
	for (size_t i = 0; i < run->load_part_count; i++)
		cpulist_deinit(&run->load_parts[i]);
	free(run->load_parts);
	load_tool_deinit(&run->load_tool);
	load_limits_deinit(&run->limits);
}
