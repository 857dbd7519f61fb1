/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "cleanup.h"
#include "phases.h"
#include "units.h"
#include "waits.h"

/* By name; otherwise oslat runs if it is installed. */
static bool is_wanted(const struct run *run, size_t tool)
{
	return run->options.opinions[tool] ||
	       (tool == OPINION_OSLAT && run->options.oslat == OSLAT_WANTED);
}

static bool is_tried(const struct run *run, size_t tool)
{
	return is_wanted(run, tool) || (tool == OPINION_OSLAT && run->options.oslat != OSLAT_OFF) ||
	       (tool == OPINION_CYCLICTEST && run->options.wakeup_ns);
}

uint64_t opinions_longest_ns(const struct run *run)
{
	uint64_t count = 0;

	for (size_t tool = 0; tool < OPINION_TOOLS; tool++)
		count += is_tried(run, tool);
	return count * OPINION_LONGEST_NS;
}

static void report_missing(struct run *run, size_t tool, int err)
{
	if (is_wanted(run, tool))
		run->complete = false;
	if (err == -ENOENT)
		run_note(run, "%s is not installed, so there is no second opinion; install %s",
			 opinion_name(tool), opinion_tool(tool)->package);
	else
		run_note(run, "%s could not be started (%s)", opinion_name(tool), strerror(-err));
}

static void report_output(struct run *run, const struct child *child, const char *name)
{
	if (child->truncated)
		run_truncated(run, name);
	else if (!child->output && !child->file && !run->interrupted)
		run_partial(run, "%s ended without a result", name);
}

static void report(struct run *run, const struct opinion *opinion)
{
	_cleanup_free_ char *complaint = opinion_complaint(opinion);
	const int code = child_exit_code(&opinion->child);
	const char *name = opinion_name(opinion->tool);

	if (code == 0 || opinion->child.truncated)
		report_output(run, &opinion->child, name);
	if (code == 0 || run->interrupted)
		return;
	if (code > 128 || is_wanted(run, opinion->tool))
		run->complete = false;
	if (opinion->child.late)
		run_note(run, "%s did not end in time and was killed", name);
	else if (code > 128)
		run_note(run, "%s was killed by signal %d%s", name, code - 128,
			 code - 128 == SIGXFSZ ? ": it wrote too much" : "");
	else
		run_note(run, "%s failed with status %d (%s); it needs %s", name, code,
			 complaint ? complaint : "no message", opinion_tool(opinion->tool)->needs);
}

static void make_one(struct run *run, size_t tool)
{
	const struct setup *setup = &run->setup;
	const struct opinion_options options = {
		.cpus = &setup->measured,
		.main_cpu = setup->rest.count ? setup->rest.cpus[0] : setup->measured.cpus[0],
		.policy = &run->options.policy,
		.scratch = &run->scratch,
		.duration_ns = least(run->options.duration_ns, OPINION_LONGEST_NS),
		.interval_ns = run->options.wakeup_ns,
	};
	int err;

	if (run->host.emulated && !is_wanted(run, tool)) {
		run_note(run, "%s was left out: it measures durations only", opinion_name(tool));
		return;
	}
	err = opinion_start(tool, &options, &run->opinions[tool]);
	if (err) {
		report_missing(run, tool, err);
		return;
	}
	phases_tell(run->options.phases, opinion_name(tool));
	run_wait_child(run, &run->opinions[tool].child);
	report(run, &run->opinions[tool]);
}

void opinions_make(struct run *run)
{
	for (size_t tool = 0; tool < OPINION_TOOLS; tool++) {
		if (is_tried(run, tool) && !run->interrupted)
			make_one(run, tool);
	}
}

void opinions_deinit(struct run *run)
{
	for (int tool = 0; tool < OPINION_TOOLS; tool++)
		opinion_deinit(&run->opinions[tool]);
}
