/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <limits.h>
#include <linux/mempolicy.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "phases.h"
#include "units.h"

/* Finds the kernel's deliberate throttling of real-time loops. */
static void find_throttling(struct run *run)
{
	for (size_t i = 0; i < run->detectors.count; i++) {
		struct detector *detector = &run->detectors.items[i];
		const struct spin *spin = &detector->spin;
		const struct throttle_pattern expected =
			throttle_expect(&run->options.policy, "", run->host.kernel, detector->cpu);

		if (detector->measured)
			detector->throttle = throttle_find(
				&expected, spin->hist,
				clock_ns(&run->clock, (double)(spin->end - spin->begin)));
	}
}

/* Keeps the kernel from moving the detectors' memory, as far as permitted. */
static void settle_memory(void)
{
	/* NUMA balancing would unmap pages at times to see which CPU uses them. */
	syscall(SYS_set_mempolicy, MPOL_LOCAL, NULL, 0);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	mlockall(MCL_CURRENT);
	/* Unmapping memory interrupts every CPU that runs a thread of this process. */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

/* For other programs only; without it oslat is left out, unless it was requested by name. */
static int make_scratch(struct run *run)
{
	const struct options *options = &run->options;
	bool needed = options->load || options->throughput.count || options->wakeup_ns ||
		      options->oslat == OSLAT_WANTED;
	int err;

	for (int tool = 0; tool < OPINION_TOOLS; tool++)
		needed |= options->opinions[tool];
	if (!needed && options->oslat == OSLAT_OFF)
		return 0;
	err = scratch_init(&run->scratch);
	if (!err || needed)
		return err;
	run->options.oslat = OSLAT_OFF;
	run_note(run,
		 "oslat was left out: no private folder can be made (%s); set "
		 "TMPDIR to a writable folder",
		 strerror(-err));
	return 0;
}

int run_prepare(struct run *run)
{
	int err = host_init(&run->host);

	run->host.emulated |= run->options.emulated;
	if (!err)
		err = setup_resolve(&run->options, &run->host, &run->setup);
	if (err)
		return err;
	settle_memory();
	err = make_scratch(run);
	if (err)
		return refuse("TMPDIR: no private folder can be made for the loads (%s); name a "
			      "writable folder in it",
			      strerror(-err));
	return loads_prepare(run);
}

/* After the start of the load. */
static void enter_group(struct run *run)
{
	const int err = run->options.group ? setup_enter(&run->options, &run->setup) : 0;

	if (err)
		run_partial(run, "--group %.200s: can't be entered (%s)", run->options.group,
			    strerror(-err));
}

void run_make(struct run *run)
{
	run->complete = true;
	run->valid = true;
	phases_watch(run->options.phases);
	phases_tell(run->options.phases, "ready");
	clock_init(&run->clock);
	loads_start(run);
	enter_group(run);
	measurement_make(run);
	wakeups_make(run);
	measurement_save(run);
	opinions_make(run);
	works_make(run);
	loads_end(run);
	works_throughput(run);
	scratch_deinit(&run->scratch);
	clock_calibrate(&run->clock);
	if (run->interrupted)
		run_partial(run, "interrupted by signal %d before the run was complete",
			    run->interrupted);
	find_throttling(run);
	check_run(run);
}

void run_deinit(struct run *run)
{
	follow_deinit(&run->follow);
	series_deinit(&run->series);
	capture_deinit(&run->capture);
	opinions_deinit(run);
	loads_deinit(run);
	works_deinit(run);
	wakeups_deinit(run);
	counter_snapshot_deinit(&run->before);
	counter_snapshot_deinit(&run->after);
	free(run->power_before);
	free(run->power_after);
	detectors_deinit(&run->detectors);
	scratch_deinit(&run->scratch);
	setup_deinit(&run->setup);
	host_deinit(&run->host);
	options_deinit(&run->options);
	strings_deinit(&run->problems);
}
