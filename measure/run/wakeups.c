/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <stdlib.h>
#include <string.h>

#include "phases.h"
#include "units.h"
#include "waits.h"
#include "xalloc.h"

uint64_t wakeups_longest_ns(const struct run *run)
{
	return run->options.wakeup_ns ? least(run->options.duration_ns, OPINION_LONGEST_NS) : 0;
}

void wakeups_make(struct run *run)
{
	const size_t kind = WORK_CLOCK_NANOSLEEP;
	const uint64_t interval = run->options.wakeup_ns, longest = wakeups_longest_ns(run);
	struct work work = {
		.kinds = &kind,
		.kind_count = 1,
		.cpus = &run->setup.measured,
		.policy = &run->options.policy,
		.clock = &run->clock,
	};
	int err;

	if (!interval || run->interrupted || run->stopped)
		return;
	if (run->host.emulated) {
		run_note(run, "--wakeup was left out: it measures durations only");
		return;
	}
	phases_tell(run->options.phases, "wakeup");
	work.interval_ns = interval;
	work.wakeups = longest / interval;
	run->wakeups = xcalloc(work.cpus->count, sizeof(*run->wakeups));
	err = work_start(&work);
	if (!err)
		run_wait_until(run, clock_raw_ns() + longest);
	atomic_store(&work.stop, err || run->interrupted);
	run->wakeup_count = work_finish(&work, run->wakeups);
	for (size_t i = 0; i < run->wakeup_count; i++)
		err = err ? err : run->wakeups[i]->error;
	if (err)
		run_partial(run, "--wakeup: could not be started (%s)", strerror(-err));
}

void wakeups_deinit(struct run *run)
{
	for (size_t i = 0; i < run->wakeup_count; i++)
		work_result_free(run->wakeups[i]);
	free(run->wakeups);
}
