/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "companions.h"
#include "opinions.h"
#include "units.h"
#include "works.h"

#define CALIBRATION_NS (50 * NS_PER_MS)
#define CLOSE_LOOK_NS (2 * NS_PER_MS)
/* How often the rings of those who watch are emptied. */
#define ATTEND_NS (100 * NS_PER_MS)
#define LOG_BYTES_MAX ((size_t)256 << 20)
#define LOG_GAPS_MAX ((size_t)1 << 20)

const uint64_t run_levels_ns[SPIN_LEVELS] = { 100, NS_PER_US, 10 * NS_PER_US, 100 * NS_PER_US };

void run_wait_ns(struct run *run, uint64_t ns)
{
	const struct timespec timeout = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
	sigset_t signals;
	int signal_number;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	signal_number = sigtimedwait(&signals, NULL, &timeout);
	if (signal_number > 0 && !run->interrupted)
		run->interrupted = signal_number;
}

static void wait_until(struct run *run, uint64_t deadline)
{
	uint64_t now = clock_raw_ns();

	while (!run->interrupted && now < deadline) {
		run_wait_ns(run, deadline - now);
		now = clock_raw_ns();
	}
}

/* The clock's own reading has to fit twice into a gap. */
static void choose_threshold(struct run *run)
{
	double floor = 0;
	uint64_t least;

	run->threshold_ns = run->options.threshold_ns;
	for (size_t i = 0; i < run->detectors.count; i++) {
		if (run->detectors.items[i].floor[0] > floor)
			floor = run->detectors.items[i].floor[0];
	}
	/* A tick of a coarse counter is a floor too. */
	floor = clock_ns(&run->clock, floor > 1 ? floor : 1);
	least = (uint64_t)(2 * floor) + 1;
	if (2 * floor <= (double)run->threshold_ns)
		return;
	run->threshold_ns = (least + 9) / 10 * 10;
	strings_add(&run->problems,
		    "threshold raised from %" PRIu64 " ns to %" PRIu64
		    " ns: reading the clock alone takes %.1f ns",
		    run->options.threshold_ns, run->threshold_ns, floor);
}

static uint64_t to_ticks(const struct run *run, uint64_t ns)
{
	return (uint64_t)((double)ns * run->clock.hz / 1e9);
}

static void take_counters(struct run *run, struct counter_snapshot *ret)
{
	int err = counter_snapshot_take(&run->setup.measured, ret);

	if (!err || !run->counters_valid)
		return;
	run->counters_valid = false;
	run->complete = false;
	strings_add(&run->problems, "/proc/interrupts or /proc/softirqs can't be read (%s)",
		    strerror(-err));
}

/*
 * Once before it counts: the first write to a page shared with a forked keeper copies it, and that
 * interrupts every CPU that runs one of our threads.
 */
static void rehearse_counters(struct run *run)
{
	run->counters_valid = true;
	take_counters(run, &run->before);
	take_counters(run, &run->after);
	counter_snapshot_deinit(&run->before);
	counter_snapshot_deinit(&run->after);
}

/* Who reads the lines may leave, which ends the run; what else goes wrong ends the lines alone. */
static void tell(struct run *run)
{
	int err = follow_tick(&run->follow);

	if (err == -EPIPE)
		run->interrupted = SIGPIPE;
	if (!err || err == -EPIPE)
		return;
	run->options.follow = false;
	run->complete = false;
	strings_add(&run->problems, "--follow ended early (%s)", strerror(-err));
}

/* Waits as wait_until() does, and looks after those who watch the run meanwhile. */
static void attend_until(struct run *run, uint64_t deadline)
{
	uint64_t now = clock_raw_ns();

	while (!run->interrupted && now < deadline) {
		wait_until(run, deadline - now < ATTEND_NS ? deadline : now + ATTEND_NS);
		capture_drain(&run->capture);
		if (run->options.follow)
			tell(run);
		now = clock_raw_ns();
	}
}

static void measure(struct run *run)
{
	const uint64_t duration = to_ticks(run, run->options.duration_ns);
	uint64_t levels[SPIN_LEVELS], deadline;

	for (int i = 0; i < SPIN_LEVELS; i++)
		levels[i] = to_ticks(run, run_levels_ns[i]);
	/* Outside the counted stretch: reading a register interrupts its CPU. */
	power_snapshot_take("", &run->setup.measured, &run->power_before);
	if (run->options.follow && follow_init(&run->detectors, &run->setup.measured, &run->follow))
		run->options.follow = false;
	capture_begin(&run->capture);
	take_counters(run, &run->before);
	detectors_measure(&run->detectors, to_ticks(run, run->threshold_ns), duration, levels);
	deadline = run->before.raw_ns + run->options.duration_ns;
	attend_until(run, deadline);
	while (!run->interrupted && !detectors_finished(&run->detectors))
		run_wait_ns(run, CLOSE_LOOK_NS);
	detectors_stop(&run->detectors);
	while (!detectors_finished(&run->detectors))
		usleep(200);
	take_counters(run, &run->after);
	capture_end(&run->capture);
	power_snapshot_take("", &run->setup.measured, &run->power_after);
}

/* What the kernel took from real-time loops on purpose. */
static void find_throttling(struct run *run)
{
	for (size_t i = run->detectors.count; i-- > 0;) {
		struct detector *detector = &run->detectors.items[i];
		const struct spin *spin = &detector->spin;
		struct throttle_pattern expected;

		throttle_settings_read("", run->host.kernel, detector->cpu, &run->throttle);
		expected = throttle_expect(&run->options.policy, &run->throttle);
		if (detector->measured)
			detector->throttle = throttle_find(
				&expected, spin->hist,
				clock_ns(&run->clock, (double)(spin->end - spin->begin)));
	}
}

static size_t log_size(const struct run *run)
{
	const size_t fair = LOG_BYTES_MAX / sizeof(struct gap) / run->setup.measured.count;

	if (!run->options.events)
		return 0;
	return fair < LOG_GAPS_MAX ? fair : LOG_GAPS_MAX;
}

static void start_capture(struct run *run)
{
	const struct capture_options options = {
		.folder = run->options.capture,
		.observer = run->options.observer,
		.cpus = &run->setup.measured,
		.duration_ns = run->options.warmup_ns + run->options.duration_ns,
		.memory = run->host.memory_available / 8,
	};

	capture_start(&options, &run->clock, &run->capture);
}

static void end_capture(struct run *run)
{
	if (!run->options.capture)
		return;
	clock_calibrate(&run->clock);
	if (capture_save(&run->capture, &run->detectors, &run->clock, &run->problems))
		run->complete = false;
}

static void detect(struct run *run)
{
	const uint64_t start = clock_raw_ns();
	int err;

	start_capture(run);
	err = detectors_start(&run->detectors, &run->clock, &run->setup.measured,
			      &run->options.policy, log_size(run));

	if (err) {
		run->complete = false;
		strings_add(&run->problems, "the detector could not be started (%s)",
			    strerror(-err));
	} else {
		capture_attach(&run->capture, &run->detectors);
		rehearse_counters(run);
		wait_until(run, start + run->options.warmup_ns);
		wait_until(run, run->clock.first.raw_ns + CALIBRATION_NS);
	}
	if (!err && !run->interrupted) {
		clock_calibrate(&run->clock);
		run->start_hz = run->clock.hz;
		choose_threshold(run);
		measure(run);
	}
	detectors_join(&run->detectors);
	end_capture(run);
}

/* Keeps the kernel from moving the detectors' memory, as far as it is permitted. */
static void settle_memory(void)
{
	/* NUMA balancing would unmap it now and then to see who uses it. */
	syscall(SYS_set_mempolicy, MPOL_LOCAL, NULL, 0);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	mlockall(MCL_CURRENT);
	/* Memory given back is unmapped by interrupting every CPU that runs one of our threads. */
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

static bool needs_scratch(const struct options *options)
{
	bool needed = options->load || options->throughput || options->oslat == OSLAT_WANTED;

	for (int tool = 0; tool < OPINION_TOOLS; tool++)
		needed |= options->opinions[tool];
	return needed;
}

/* Only other programs need it; without it, oslat is left out unless it was asked for by name. */
static int make_scratch(struct run *run)
{
	const bool needed = needs_scratch(&run->options);
	int err;

	if (!needed && run->options.oslat == OSLAT_OFF)
		return 0;
	err = scratch_init(&run->scratch);
	if (!err || needed)
		return err;
	run->options.oslat = OSLAT_OFF;
	strings_add(&run->problems,
		    "oslat was left out: no private folder can be made (%s); set "
		    "TMPDIR to a writable folder",
		    strerror(-err));
	return 0;
}

static int prepare(struct run *run, struct message *message)
{
	int err = host_init(&run->host, message);

	run->host.emulated |= run->options.emulated;
	if (!err)
		err = setup_resolve(&run->options, &run->host, &run->setup, message);
	if (err)
		return err;
	settle_memory();
	err = make_scratch(run);
	if (err)
		return message_set(message,
				   "TMPDIR: no private folder can be made for the loads (%s); name "
				   "a writable folder in it",
				   strerror(-err));
	return companions_prepare(run, message);
}

int run_make(struct run *run, struct message *message)
{
	int err = prepare(run, message);

	if (err)
		return err;
	run->complete = true;
	run->valid = true;
	clock_init(&run->clock);
	companions_start(run);
	detect(run);
	works_make(run);
	opinions_make(run);
	companions_end(run);
	works_throughput(run);
	scratch_deinit(&run->scratch);
	clock_calibrate(&run->clock);
	if (run->interrupted) {
		run->complete = false;
		strings_add(&run->problems, "interrupted by signal %d before the run was complete",
			    run->interrupted);
	}
	find_throttling(run);
	check_run(run);
	return 0;
}

void run_deinit(struct run *run)
{
	follow_deinit(&run->follow);
	capture_deinit(&run->capture);
	opinions_deinit(run);
	companions_deinit(run);
	works_deinit(run);
	counter_snapshot_deinit(&run->before);
	counter_snapshot_deinit(&run->after);
	power_snapshot_deinit(&run->power_before);
	power_snapshot_deinit(&run->power_after);
	detectors_deinit(&run->detectors);
	scratch_deinit(&run->scratch);
	setup_deinit(&run->setup);
	host_deinit(&run->host);
	options_deinit(&run->options);
	strings_deinit(&run->problems);
}
