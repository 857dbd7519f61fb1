/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads themselves, on both kinds of clock, for a moment on this machine. */
#include "steps.h"
#include "detector.h"
#include "tap.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "units.h"

#define DURATION_NS (100 * NS_PER_MS)

static const struct policy other;

static void check_detector(const struct detector *detector, const struct clock_source *clock)
{
	const struct spin *spin = &detector->spin;
	const double runtime = clock_ns(clock, (double)(spin->end - spin->begin));

	ok(detector->measured && runtime >= DURATION_NS * 0.999, "%s: ran %.0f ns", clock->name,
	   runtime);
	ok(spin->hist->total == spin->gaps && spin->log_used == spin->gaps,
	   "%s: %" PRIu64 " gaps, in the histogram and in the log", clock->name, spin->gaps);
	ok(spin->noise + spin->dead < spin->end - spin->begin, "%s: less noise than time",
	   clock->name);
	ok(fabs(check_unaccounted(spin)) < 0.01, "%s: all time accounted for (%.5f left)",
	   clock->name, check_unaccounted(spin));
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
	ok(detector->page_faults == 0, "%s: no page fault", clock->name);
#endif
}

static void test_kind(struct clock_source *clock, const struct cpulist *cpus)
{
	struct detectors detectors;

	ok(detectors_start(&detectors, clock, cpus, &other, 1 << 16) == 0, "%s: started",
	   clock->name);
	usleep(50000);
	clock_calibrate(clock);
	detectors_measure(&detectors, 500, DURATION_NS);
	while (!detectors_finished(&detectors))
		usleep(1000);
	detectors_join(&detectors);
	for (size_t i = 0; i < detectors.count; i++)
		check_detector(&detectors.items[i], clock);
	detectors_deinit(&detectors);
}

static void test_stop(const struct clock_source *clock, const struct cpulist *cpus)
{
	const uint64_t start = clock_raw_ns();
	struct detectors detectors;

	detectors_start(&detectors, clock, cpus, &other, 0);
	detectors_measure(&detectors, UINT64_C(1) << 40, UINT64_C(1) << 60);
	usleep(20000);
	detectors_join(&detectors);
	ok(clock_raw_ns() - start < 20 * NS_PER_S, "a run without end can be stopped");
	detectors_deinit(&detectors);
}

static void test_bad_cpu(const struct clock_source *clock)
{
	unsigned int ids[] = { CPULIST_MAX - 1 };
	const struct cpulist cpus = { .cpus = ids, .count = 1 };
	struct detectors detectors;

	ok(detectors_start(&detectors, clock, &cpus, &other, 0) == -EINVAL,
	   "a CPU that isn't there");
	detectors_join(&detectors);
	detectors_deinit(&detectors);
}

int main(void)
{
	unsigned int ids[] = { (unsigned int)sched_getcpu() };
	const struct cpulist cpus = { .cpus = ids, .count = 1 };
	struct clock_source clock;

	clock_init(&clock);
	test_kind(&clock, &cpus);
	ok(clock.hz > 1e6 && clock.hz < 2e10, "%s at %.0f Hz", clock.name, clock.hz);
	test_stop(&clock, &cpus);
	test_bad_cpu(&clock);
	clock_init(&clock);
	clock.kind = CLOCK_KIND_GETTIME;
	clock.name = "monotonic_raw";
	clock.first.raw_ns = clock_raw_ns();
	clock.hz = 1e9;
	test_kind(&clock, &cpus);
	ok(fabs(clock.hz - 1e9) < 1, "clock_gettime counts nanoseconds");
	return tap_end();
}
