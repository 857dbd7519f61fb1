/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "clock.h"
#include "tap.h"

#include <math.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPAN_US 200000

static void test_rate(void)
{
	double least = 0, most = 0;

	for (int i = 0; i < 3; i++) {
		struct clock_source clock;

		clock_init(&clock);
		usleep(SPAN_US);
		clock_calibrate(&clock);
		least = i && least < clock.hz ? least : clock.hz;
		most = most > clock.hz ? most : clock.hz;
	}
	ok(least > 0, "three calibrations have a rate (%.0f Hz)", most);
	/* Two brackets of 100 ns in 200 ms are 1 ppm. */
	figure("clock_spread", 1e6 * (most - least) / least, "ppm");
}

static void test_pair(void)
{
	struct clock_source clock;
	uint64_t ticks, raw;

	clock_init(&clock);
	ticks = clock_now(&clock);
	raw = clock_raw_ns();
	usleep(SPAN_US);
	clock_calibrate(&clock);
	ok(clock.first.ticks <= ticks && clock.first.raw_ns <= raw &&
		   clock.last.ticks >= ticks + (uint64_t)(clock.hz * SPAN_US / 1e6),
	   "the pairs are of the beginning and of the end");
	figure("clock_pair_width", clock_ns(&clock, (double)clock.first.width), "ns");
	ok(clock_floor(&clock) > 0 || clock.hz < 1e8, "a reading takes %.1f ns",
	   clock_ns(&clock, clock_floor(&clock)));
}

#if defined(__x86_64__)
static void test_forbidden(void)
{
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		struct clock_source clock;

		prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
		clock_init(&clock);
		clock_now(&clock);
		clock_raw_ns();
		_exit(0);
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	   "a counter that our parent had forbidden is allowed again");
}
#endif

int main(void)
{
	test_rate();
	test_pair();
#if defined(__x86_64__)
	test_forbidden();
#endif
	return tap_end();
}
