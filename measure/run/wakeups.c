/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cleanup.h"
#include "units.h"
#include "xalloc.h"

static void save(struct run *run, struct capture *capture)
{
	_cleanup_free_ struct watched *watched = xcalloc(run->wakeup_count, sizeof(*watched));

	for (size_t i = 0; i < run->wakeup_count; i++) {
		const struct work_result *result = run->wakeups[i];

		watched[i] =
			(struct watched){ result->cpu, result->tid, result->begin, result->end };
	}
	clock_calibrate(&run->clock);
	if (capture_save(capture, watched, run->wakeup_count, &run->clock, &run->problems))
		run->complete = false;
}

static void make(struct run *run)
{
	const size_t kind = WORK_CLOCK_NANOSLEEP;
	struct work work = {
		.kinds = &kind,
		.kind_count = 1,
		.schedule = { run->options.wakeup_ns,
			      wakeups_longest_ns(run) / run->options.wakeup_ns },
		.cpus = &run->setup.measured,
		.policy = &run->options.policy,
		.clock = &run->clock,
	};
	int err = work_start(&work);

	if (!err)
		run_wait_until(run, clock_raw_ns() + wakeups_longest_ns(run));
	atomic_store(&work.stop, err || run->interrupted);
	run->wakeup_count = work_finish(&work, run->wakeups);
	for (size_t i = 0; i < run->wakeup_count; i++)
		err = err ? err : run->wakeups[i]->error;
	if (err)
		run_partial(run, "--wakeup: could not be started (%s)", strerror(-err));
}

/* Into a folder of their own below the one of the run, where that has the trace. */
static bool record(struct run *run, char *folder, struct capture *ret)
{
	const struct capture *whole = &run->capture;
	struct capture_options options = whole->options;

	options.folder = folder;
	options.duration_ns = wakeups_longest_ns(run);
	if (!folder || options.observer == OBSERVER_SWITCHES || whole->trace_error ||
	    mkdir(folder, 0700))
		return false;
	capture_start(&options, &run->clock, ret);
	return ret->tracing;
}

void wakeups_make(struct run *run)
{
	const char *whole = run->options.capture;
	_cleanup_free_ char *folder = whole ? text_format("%s/wakeup", whole) : NULL;
	struct capture capture = { 0 };
	bool recorded;

	if (!run->options.wakeup_ns || run->interrupted)
		return;
	if (run->host.emulated) {
		run_note(run, "--wakeup was left out: it measures durations only");
		return;
	}
	run->wakeups = xcalloc(run->setup.measured.count, sizeof(*run->wakeups));
	recorded = record(run, folder, &capture);
	capture_begin(&capture);
	make(run);
	capture_end(&capture);
	if (recorded)
		save(run, &capture);
	capture_deinit(&capture);
}
