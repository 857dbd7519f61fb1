/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "companions.h"

#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"

#define OSLAT_LONGEST_NS (30 * NS_PER_S)
/* For starting, oslat's own warm-up and a slow machine. */
#define LOAD_SLACK_NS (120 * NS_PER_S)
#define LOAD_MEMORY_MAX (UINT64_C(256) << 20)
#define GRACE_NS (60 * NS_PER_S)
#define GRACE_INTERRUPTED_NS (3 * NS_PER_S)

void companions_start(struct run *run)
{
	const struct options *options = &run->options;
	const uint64_t quarter = run->host.memory_available / 4;
	const struct load_options load = {
		.scenario = options->load,
		.cpus = &run->setup.load,
		.scratch = &run->scratch,
		.seed = options->seed,
		.memory = quarter && quarter < LOAD_MEMORY_MAX ? quarter : LOAD_MEMORY_MAX,
		.limit_ns = options->warmup_ns + options->duration_ns + OSLAT_LONGEST_NS +
			    LOAD_SLACK_NS,
	};
	int err;

	if (!options->load)
		return;
	err = load_start(&load, &run->load);
	run->load_started = !err;
	if (!err)
		return;
	run->complete = false;
	if (err == -ENOENT)
		strings_add(&run->problems,
			    "--load %s: stress-ng is not installed, so the run had no load; "
			    "install stress-ng",
			    load_scenario_name(options->load));
	else
		strings_add(&run->problems, "--load %s: stress-ng could not be started (%s)",
			    load_scenario_name(options->load), strerror(-err));
}

/* Waits for a child's own end; a signal shortens that. */
static void wait_for(struct run *run, struct child *child)
{
	while (!child_ended(child) && !run->interrupted)
		run_wait_ns(run, 20 * NS_PER_MS);
	if (!child_ended(child))
		child_finish(child, GRACE_INTERRUPTED_NS);
	child_wait(child);
}

/* "One or more stressors failed", "the bogo ops metrics maybe untrustworthy" (stress-ng(1)). */
static bool is_miscount(int code)
{
	return code == 2 || code == 7;
}

static void report_load(struct run *run, bool early)
{
	_cleanup_free_ char *complaint = load_complaint(&run->load);
	const struct load *load = &run->load;
	const int code = child_exit_code(&load->child);

	if (run->interrupted || (code == 0 && !early && load->metrics))
		return;
	/* The load was there to the end; a stressor that is stopped half-way may spoil its count. */
	if (is_miscount(code) && !early && load->metrics) {
		strings_add(&run->problems,
			    "stress-ng doubts its own counts (status %d: %s); the load was there, "
			    "its throughput may be wrong",
			    code, complaint ? complaint : "no message");
		return;
	}
	run->complete = false;
	if (early)
		strings_add(&run->problems,
			    "stress-ng ended before the run did (status %d), so part of it had no "
			    "load",
			    code);
	else
		strings_add(&run->problems, "stress-ng failed at its end (status %d)%s%s", code,
			    load->child.late ? ", too late" : "",
			    load->metrics ? "" : ", without metrics");
}

void companions_end(struct run *run)
{
	bool early;

	if (!run->load_started)
		return;
	early = child_ended(&run->load.child);
	child_finish(&run->load.child, run->interrupted ? GRACE_INTERRUPTED_NS : GRACE_NS);
	wait_for(run, &run->load.child);
	load_read(&run->load);
	report_load(run, early);
}

static void report_oslat(struct run *run)
{
	_cleanup_free_ char *complaint = oslat_complaint(&run->oslat);
	const int code = child_exit_code(&run->oslat.child);

	if (code == 0 || run->interrupted)
		return;
	if (code > 128 || run->options.oslat == OSLAT_WANTED)
		run->complete = false;
	if (run->oslat.child.late)
		strings_add(&run->problems, "oslat did not end in time and was killed");
	else if (code > 128)
		strings_add(&run->problems, "oslat was killed by signal %d", code - 128);
	else
		strings_add(&run->problems,
			    "oslat failed with status %d (%s); it needs root, or LimitMEMLOCK and "
			    "LimitRTPRIO raised",
			    code, complaint ? complaint : "no message");
}

static void missing_oslat(struct run *run, int err)
{
	const bool wanted = run->options.oslat == OSLAT_WANTED;

	if (wanted)
		run->complete = false;
	if (err == -ENOENT)
		strings_add(&run->problems,
			    "oslat is not installed, so there is no second opinion; "
			    "install rt-tests");
	else
		strings_add(&run->problems, "oslat could not be started (%s)", strerror(-err));
}

void companions_second_opinion(struct run *run)
{
	const struct setup *setup = &run->setup;
	const uint64_t duration = run->options.duration_ns;
	const struct oslat_options options = {
		.cpus = &setup->measured,
		.main_cpu = setup->rest.count ? setup->rest.cpus[0] : setup->measured.cpus[0],
		.fifo_priority = run->options.fifo_priority,
		.scratch = &run->scratch,
		.duration_ns = duration < OSLAT_LONGEST_NS ? duration : OSLAT_LONGEST_NS,
	};
	int err;

	if (run->options.oslat == OSLAT_OFF || run->interrupted)
		return;
	if (run->host.emulated && run->options.oslat != OSLAT_WANTED) {
		strings_add(&run->problems, "oslat was left out: it measures durations only");
		return;
	}
	err = oslat_start(&options, &run->oslat);
	if (err) {
		missing_oslat(run, err);
		return;
	}
	run->oslat_started = true;
	wait_for(run, &run->oslat.child);
	oslat_read(&run->oslat);
	report_oslat(run);
}
