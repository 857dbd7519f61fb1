/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"

#define UNACCOUNTED_MAX 0.01
/* Below this, rounding dominates the check. */
#define UNACCOUNTED_FLOOR_NS 20000
#define DRIFT_MAX_PPM 100
#define TRAPPED_NS 100

double check_unaccounted(const struct spin *spin)
{
	const double runtime = (double)(spin->end - spin->begin);
	double period;

	if (!spin->clean_reads || runtime <= 0)
		return 1;
	period = (double)spin->clean_ticks / (double)spin->clean_reads;
	return (runtime - (double)(spin->reads - spin->gaps) * period - (double)spin->noise -
		(double)spin->dead) /
	       runtime;
}

static void check_conservation(struct run *run, const struct detector *detector)
{
	const struct spin *spin = &detector->spin;
	const double share = check_unaccounted(spin);
	const double runtime = clock_ns(&run->clock, (double)(spin->end - spin->begin));

	if (run->host.emulated || fabs(share) <= UNACCOUNTED_MAX ||
	    fabs(share) * runtime < UNACCOUNTED_FLOOR_NS)
		return;
	run_invalid(
		run,
		"CPU %u: %.2f %% of the runtime is in no reading, gap or dead time (1 %% allowed)",
		detector->cpu, 100 * share);
}

static void check_throttling(struct run *run, const struct detector *detector)
{
	const struct throttle *found = &detector->throttle;
	char period[32];

	if (!found->pattern.by)
		return;
	run_note(run,
		 "CPU %u: %" PRIu64 " gaps of about %.1f ms, one each %s, are the kernel's own "
		 "(%s) and count as noise",
		 detector->cpu, found->events, found->time_ns / (double)found->events / 1e6,
		 format_time((uint64_t)found->pattern.period_ns, period, sizeof(period)),
		 found->pattern.by);
}

static void check_detector(struct run *run, const struct detector *detector)
{
	const struct spin *spin = &detector->spin;

	if (detector->moved) {
		run->complete = false;
		run_invalid(
			run,
			"CPU %u: went offline, or left the cpuset, during the run; its detector "
			"measured another CPU since",
			detector->cpu);
	}
	check_conservation(run, detector);
	check_throttling(run, detector);
	if (detector->isolation)
		run_note(run, "CPU %u: the kernel offers task isolation and refused it (%s)",
			 detector->cpu, strerror(-detector->isolation));
	if (detector->page_faults)
		run_invalid(run, "CPU %u: %ld page faults in the measuring loop", detector->cpu,
			    detector->page_faults);
	if (spin->backwards)
		run_invalid(run, "CPU %u: the clock went backwards %" PRIu64 " times",
			    detector->cpu, spin->backwards);
	if (spin->log_lost)
		run_note(run,
			 "CPU %u: the event log was full, %" PRIu64
			 " events are in the histogram only",
			 detector->cpu, spin->log_lost);
}

static void check_clock(struct run *run)
{
	const double drift = 1e6 * (run->clock.hz - run->start_hz) / run->start_hz;
	_cleanup_free_ char *sources = text_read_trimmed(
		"/sys/devices/system/clocksource/clocksource0/available_clocksource");

	if (!run->clock.invariant)
		run_note(run,
			 "the processor does not promise a constant rate of the time-stamp "
			 "counter; it moved by %.1f ppm in this run",
			 drift);
	if (strcmp(run->clock.name, "tsc") == 0 && sources && !strstr(sources, "tsc"))
		run_note(run, "the kernel does not trust the time-stamp counter (available: %s)",
			 sources);
	if (run->start_hz > 0 && fabs(drift) > DRIFT_MAX_PPM)
		run_invalid(run, "the clock's rate moved by %.0f ppm during the run (%d allowed)",
			    drift, DRIFT_MAX_PPM);
}

static void check_floor(struct run *run)
{
	for (size_t i = 0; i < run->detectors.count; i++) {
		const struct detector *detector = &run->detectors.items[i];
		const double floor = clock_ns(&run->clock, detector->floor[0]);

		if (detector->measured && floor > TRAPPED_NS)
			run_note(run,
				 "CPU %u: one reading of the clock takes %.0f ns, so it is "
				 "probably trapped by a hypervisor",
				 detector->cpu, floor);
	}
}

static void check_cpus(struct run *run)
{
	if (!run->setup.rest.count)
		run_note(run, "every allowed CPU is measured: the harness itself "
			      "runs on them and is part of the noise");
	for (size_t i = 0; i < run->setup.load.count; i++) {
		if (cpulist_has(&run->setup.measured, run->setup.load.cpus[i]))
			run_note(run, "CPU %u is measured and carries the load",
				 run->setup.load.cpus[i]);
	}
}

void check_run(struct run *run)
{
	if (run->host.emulated) {
		run_note(run, "the CPUs are emulated: durations mean nothing, "
			      "counts of interrupts do");
	} else {
		check_clock(run);
		check_floor(run);
	}
	check_cpus(run);
	for (size_t i = 0; i < run->detectors.count; i++) {
		if (run->detectors.items[i].measured)
			check_detector(run, &run->detectors.items[i]);
	}
}
