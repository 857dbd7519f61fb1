/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "phases.h"
#include "unshare.h"
#include "units.h"
#include "waits.h"

#define CALIBRATION_NS (50 * NS_PER_MS)
#define CLOSE_LOOK_NS (2 * NS_PER_MS)
/* The interval at which the observers' buffers are emptied. */
#define ATTEND_NS (100 * NS_PER_MS)
#define LOG_BYTES_MAX ((size_t)256 << 20)
#define LOG_GAPS_MAX ((size_t)1 << 20)

uint64_t measurement_threshold(uint64_t asked_ns, double floor_ns)
{
	uint64_t step = 1;

	if (2 * floor_ns <= (double)asked_ns)
		return asked_ns;
	for (bool three = false; (double)step < 2 * floor_ns; three = !three)
		step = three ? step / 3 * 10 : step * 3;
	return step;
}

static void choose_threshold(struct run *run)
{
	/* One tick of a coarse counter is the least floor. */
	double floor = 1;

	for (size_t i = 0; i < run->detectors.count; i++)
		floor = fmax(floor, run->detectors.items[i].floor[0]);
	floor = clock_ns(&run->clock, floor);
	run->threshold_ns = measurement_threshold(run->options.threshold_ns, floor);
	if (run->threshold_ns != run->options.threshold_ns)
		run_note(run,
			 "threshold raised from %" PRIu64 " ns to %" PRIu64
			 " ns: reading the clock alone takes %.1f ns",
			 run->options.threshold_ns, run->threshold_ns, floor);
}

static void take_counters(struct run *run, struct counter_snapshot *ret)
{
	int err = counter_snapshot_take(&run->setup.measured, ret);

	if (!err || !run->counters_valid)
		return;
	run->counters_valid = false;
	/* Report an offline CPU once. */
	if (err != -ENXIO || err != run->series.error)
		run_partial(run, "/proc/interrupts or /proc/softirqs can't be read (%s)",
			    err == -ENXIO ? "a measured CPU is offline" : strerror(-err));
}

static void end_follow(struct run *run, int err)
{
	follow_deinit(&run->follow);
	run_partial(run, "--follow ended early (%s)", strerror(-err));
}

/* If the reader of the lines goes away the run ends; other errors end only the lines. */
static void tell(struct run *run)
{
	int err = follow_tick(&run->follow);

	if (err == -EPIPE)
		run->interrupted = SIGPIPE;
	else if (err)
		end_follow(run, err);
}

/* Called before follow_tick(), which sets the longest gap back to 0. */
static void stop_on_gap(struct run *run)
{
	for (size_t i = 0; run->options.stop_on_ns && i < run->detectors.count; i++) {
		struct detector *detector = &run->detectors.items[i];
		const double ns = clock_ns(&run->clock, (double)atomic_load(&detector->live.max));

		if (ns < (double)run->options.stop_on_ns)
			continue;
		run->stopped = true;
		run_partial(run, "ended by --stop-on: a gap of %.3f us on CPU %u", ns / NS_PER_US,
			    detector->cpu);
	}
}

/* The detector's longest gap counts anew from here on, so that each is told once. */
static void tell_gaps(struct run *run)
{
	for (size_t i = 0; run->options.on_gap_ns && i < run->detectors.count; i++) {
		struct detector *detector = &run->detectors.items[i];
		const double least = (double)run->options.on_gap_ns;
		uint64_t longest = atomic_load(&detector->live.max);
		char line[64];

		if (clock_ns(&run->clock, (double)longest) < least)
			continue;
		longest = atomic_exchange(&detector->live.max, 0);
		snprintf(line, sizeof(line), "gap %u %.0f", detector->cpu,
			 clock_ns(&run->clock, (double)longest));
		phases_tell(run->options.phases, line);
	}
}

/* Waits as run_wait_until() does, and serves the observers of the run meanwhile. */
static void attend_until(struct run *run, uint64_t deadline)
{
	uint64_t now = clock_raw_ns(), step;

	/* The detector of a CPU that went offline now runs on another one: wrong results. */
	while (!run->interrupted && !run->stopped && now < deadline &&
	       run->series.error != -ENXIO) {
		step = run->series.next_ns > now ? run->series.next_ns : deadline;
		run_wait_until(run, least(deadline, least(step, now + ATTEND_NS)));
		capture_drain(&run->capture);
		series_tick(&run->series);
		stop_on_gap(run);
		tell_gaps(run);
		tell(run);
		now = clock_raw_ns();
	}
}

static void measure(struct run *run)
{
	int err = 0;

	/* Not while counting: reading a register interrupts its CPU. */
	run->power_before = power_read("", &run->setup.measured);
	if (run->options.follow)
		err = follow_init(&run->detectors, &run->setup.measured, &run->follow);
	if (err)
		end_follow(run, err);
	series_init(&run->detectors, &run->setup.measured, run->setup.rest.count > 0,
		    run->host.kernel, &run->series);
	capture_begin(&run->capture);
	unshare_pages();
	run->counters_valid = true;
	take_counters(run, &run->before);
	run->limits.major_faults = memgroup_major_faults(&run->limits.group);
	series_begin(&run->series, &run->before);
	run_was_stopped();
	detectors_measure(&run->detectors, run->threshold_ns, run->options.duration_ns);
	phases_tell(run->options.phases, "measuring");
	attend_until(run, run->before.raw_ns + run->options.duration_ns);
	while (!run->interrupted && !run->stopped && run->series.error != -ENXIO &&
	       !detectors_finished(&run->detectors))
		run_wait_ns(run, CLOSE_LOOK_NS);
	detectors_stop(&run->detectors);
	while (!detectors_finished(&run->detectors))
		usleep(200);
	if (run_was_stopped())
		run_invalid(run, "the run was stopped meanwhile (SIGSTOP or Ctrl-Z), and that time "
				 "counts as noise");
	take_counters(run, &run->after);
	run->limits.major_faults =
		memgroup_major_faults(&run->limits.group) - run->limits.major_faults;
	series_end(&run->series, &run->after);
	if (run->series.error == -ENXIO) {
		run->complete = false;
		run_invalid(run, "a measured CPU went offline, and the run ended there");
	} else if (run->series.error) {
		run_note(run, "the series %s (/proc/interrupts: %s)",
			 run->series.counted ? "lacks steps" : "is without interrupts",
			 strerror(-run->series.error));
	}
	capture_end(&run->capture);
	run->capture.counted_ns = run->after.raw_ns - run->before.raw_ns;
	run->power_after = power_read("", &run->setup.measured);
	phases_tell(run->options.phases, "measured");
}

static size_t log_size(const struct run *run)
{
	const size_t fair = LOG_BYTES_MAX / sizeof(struct gap) / run->setup.measured.count;

	return run->options.events ? least(fair, LOG_GAPS_MAX) : 0;
}

static void start_capture(struct run *run)
{
	const struct capture_options options = {
		.folder = run->options.capture,
		.observer = run->options.observer,
		.cpus = &run->setup.measured,
		.duration_ns =
			run->options.warmup_ns + run->options.duration_ns + wakeups_longest_ns(run),
		.memory = run->host.memory_available / 8,
	};

	capture_start(&options, &run->clock, &run->capture);
}

void measurement_make(struct run *run)
{
	const uint64_t start = clock_raw_ns();
	int err;

	start_capture(run);
	err = detectors_start(&run->detectors, &run->clock, &run->setup.measured,
			      &run->options.policy, log_size(run));

	if (err) {
		run_partial(run, "the detector could not be started (%s)", strerror(-err));
	} else {
		capture_attach(&run->capture, &run->detectors);
		if (run->options.warmup_ns)
			phases_tell(run->options.phases, "warm-up");
		run_wait_until(run, start + run->options.warmup_ns);
		run_wait_until(run, run->clock.first.raw_ns + CALIBRATION_NS);
	}
	if (!err && !run->interrupted) {
		clock_calibrate(&run->clock);
		run->start_hz = run->clock.hz;
		choose_threshold(run);
		measure(run);
	}
	detectors_join(&run->detectors);
}

void measurement_save(struct run *run)
{
	if (!run->options.capture)
		return;
	clock_calibrate(&run->clock);
	if (capture_save(&run->capture, &run->detectors, &run->clock, &run->problems))
		run->complete = false;
}
