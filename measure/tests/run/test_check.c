/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each doubt about a run: whether it is said, and whether it makes the run invalid. */
#include "steps.h"
#include "tap.h"

#include "units.h"

#define HZ 1e9

/* A quiet CPU of a trustworthy machine: a second, read each 20 ns, with 1,000 gaps of 150 ns. */
static struct detector good_detector(void)
{
	return (struct detector){
		.cpu = 3,
		.measured = true,
		.floor = { 20, 20 },
		.spin = { .begin = 5000,
			  .end = 5000 + NS_PER_S,
			  .reads = 49992000,
			  .gaps = 1000,
			  .noise = 150000,
			  .dead = 30000,
			  .clean_reads = 49980000,
			  .clean_ticks = 999600000 },
	};
}

static struct run make_run(struct detector *detector)
{
	static unsigned int rest[] = { 0 };

	return (struct run){
		.clock = { .kind = CLOCK_KIND_COUNTER,
			   .name = "counter",
			   .invariant = true,
			   .hz = HZ },
		.start_hz = HZ,
		.threshold_ns = 100,
		.setup = { .rest = { .cpus = rest, .count = 1 } },
		.detectors = { .items = detector, .count = 1, .started = 1 },
		.complete = true,
		.valid = true,
	};
}

static bool says(const struct run *run, const char *words)
{
	for (size_t i = 0; i < run->problems.count; i++) {
		if (strstr(run->problems.items[i], words))
			return true;
	}
	return false;
}

static void check_one(struct run *run, const char *words, bool valid)
{
	check_run(run);
	ok(says(run, words) && run->problems.count == 1, "said: %s",
	   run->problems.count ? run->problems.items[0] : "nothing");
	ok(run->valid == valid, "and the run is %s", valid ? "valid" : "not valid");
	strings_deinit(&run->problems);
}

static void test_good(void)
{
	struct detector detector = good_detector();
	struct run run = make_run(&detector);

	check_run(&run);
	ok(run.valid && run.problems.count == 0, "nothing is said of a good run");
	strings_deinit(&run.problems);
}

static void test_conservation(void)
{
	struct detector detector = good_detector();
	struct run run = make_run(&detector);

	detector.spin.end += NS_PER_S / 50;
	check_one(&run, "CPU 3: 1.9", false);
	run = make_run(&detector);
	detector = good_detector();
	detector.spin.noise += NS_PER_S / 50;
	check_one(&run, "CPU 3: -2.0", false);
	detector = good_detector();
	detector.spin.end += NS_PER_S / 200;
	run = make_run(&detector);
	check_run(&run);
	ok(run.valid && run.problems.count == 0, "half a percent is within what is allowed");
	strings_deinit(&run.problems);
	detector.spin.end += NS_PER_S;
	run = make_run(&detector);
	run.host.emulated = true;
	check_one(&run, "the CPUs are emulated", true);
}

static void test_loop(void)
{
	struct detector detector = good_detector();
	struct run run = make_run(&detector);

	detector.page_faults = 2;
	check_one(&run, "CPU 3: 2 page faults in the measuring loop", false);
	detector = good_detector();
	run = make_run(&detector);
	detector.spin.backwards = 1;
	check_one(&run, "the clock went backwards 1 times", false);
	detector = good_detector();
	run = make_run(&detector);
	detector.spin.log_lost = 7;
	check_one(&run, "7 events are in the histogram only", true);
	detector = good_detector();
	run = make_run(&detector);
	detector.isolation = -22;
	check_one(&run, "task isolation and refused it", true);
}

static void test_clock(void)
{
	struct detector detector = good_detector();
	struct run run = make_run(&detector);

	run.clock.invariant = false;
	check_one(&run, "does not promise a constant rate", true);
	run = make_run(&detector);
	detector.floor[0] = 1200;
	check_one(&run, "CPU 3: one reading of the clock takes 1200 ns, so it is probably trapped",
		  true);
	detector = good_detector();
	run = make_run(&detector);
	run.start_hz = HZ * (1 + 200e-6);
	check_one(&run, "rate moved by -200 ppm during the run", false);
}

static void test_throttling(void)
{
	struct detector detector = good_detector();
	struct run run = make_run(&detector);

	detector.throttle = (struct throttle){
		.pattern = { "sched_rt_runtime_us", 50e6, 1e9 },
		.events = 4,
		.time_ns = 204e6,
	};
	check_one(&run,
		  "CPU 3: 4 gaps of about 51.0 ms, one each 1s, are the kernel's own "
		  "(sched_rt_runtime_us)",
		  true);
}

static void test_cpus(void)
{
	struct detector detector = good_detector();
	struct run run = make_run(&detector);

	run.setup.rest.count = 0;
	check_one(&run, "every allowed CPU is measured", true);
}

static void test_threshold(void)
{
	ok(measurement_threshold(100, 8.1) == 100, "a fast clock has the threshold asked for");
	ok(measurement_threshold(100, 50) == 100, "one that just fits has it too");
	ok(measurement_threshold(100, 50.1) == 300, "a slower one has the next step");
	ok(measurement_threshold(50, 40) == 100 && measurement_threshold(50, 52.1) == 300,
	   "whatever was asked for");
	for (double floor = 95; floor < 110; floor++)
		ok(measurement_threshold(100, floor) == 300, "%.0f ns is like its neighbours",
		   floor);
	ok(measurement_threshold(100, 1200) == 3000, "a trapped one");
	ok(measurement_threshold(1000, 120) == 1000, "a long threshold stays");
}

int main(void)
{
	test_threshold();
	test_good();
	test_conservation();
	test_loop();
	test_clock();
	test_throttling();
	test_cpus();
	return tap_end();
}
