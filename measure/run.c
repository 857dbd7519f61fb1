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
#include "units.h"

#define CALIBRATION_NS (50 * NS_PER_MS)
#define CLOSE_LOOK_NS (2 * NS_PER_MS)
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

static void measure(struct run *run)
{
	const uint64_t duration = to_ticks(run, run->options.duration_ns);
	uint64_t levels[SPIN_LEVELS], deadline;

	for (int i = 0; i < SPIN_LEVELS; i++)
		levels[i] = to_ticks(run, run_levels_ns[i]);
	take_counters(run, &run->before);
	detectors_measure(&run->detectors, to_ticks(run, run->threshold_ns), duration, levels);
	deadline = run->before.raw_ns + run->options.duration_ns;
	wait_until(run, deadline);
	while (!run->interrupted && !detectors_finished(&run->detectors))
		run_wait_ns(run, CLOSE_LOOK_NS);
	detectors_stop(&run->detectors);
	while (!detectors_finished(&run->detectors))
		usleep(200);
	take_counters(run, &run->after);
}

static size_t log_size(const struct run *run)
{
	const size_t fair = LOG_BYTES_MAX / sizeof(struct gap) / run->setup.measured.count;

	if (!run->options.events)
		return 0;
	return fair < LOG_GAPS_MAX ? fair : LOG_GAPS_MAX;
}

static void detect(struct run *run)
{
	const uint64_t start = clock_raw_ns();
	int err = detectors_start(&run->detectors, &run->clock, &run->setup.measured,
				  run->options.fifo_priority, log_size(run));

	if (err) {
		run->complete = false;
		strings_add(&run->problems, "the detector could not be started (%s)",
			    strerror(-err));
	} else {
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

/* Only other programs need it; without it, oslat is left out unless it was asked for by name. */
static int make_scratch(struct run *run)
{
	int err;

	if (!run->options.load && run->options.oslat == OSLAT_OFF)
		return 0;
	err = scratch_init(&run->scratch);
	if (!err || run->options.load || run->options.oslat == OSLAT_WANTED)
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
	return 0;
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
	companions_second_opinion(run);
	companions_end(run);
	scratch_deinit(&run->scratch);
	clock_calibrate(&run->clock);
	if (run->interrupted) {
		run->complete = false;
		strings_add(&run->problems, "interrupted by signal %d before the run was complete",
			    run->interrupted);
	}
	check_run(run);
	return 0;
}

void run_deinit(struct run *run)
{
	oslat_deinit(&run->oslat);
	load_deinit(&run->load);
	counter_snapshot_deinit(&run->before);
	counter_snapshot_deinit(&run->after);
	detectors_deinit(&run->detectors);
	scratch_deinit(&run->scratch);
	setup_deinit(&run->setup);
	host_deinit(&run->host);
	options_deinit(&run->options);
	strings_deinit(&run->problems);
}
