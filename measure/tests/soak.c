/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loop with 100,000 gaps per second for so many seconds (argument, default 3600): no gap is
 * lost, and the memory does not grow. The loop's own reader makes the gaps by stalling.
 *
 * Exit 0: passed; 1: failed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "spin.h"
#include "units.h"

#define GAPS_PER_S 100000
#define STALL_NS 2000
#define THRESHOLD_NS 500
#define LOG_SIZE (1 << 14)

struct staller {
	const struct clock_source *clock;
	uint64_t interval;
	uint64_t stall;
	uint64_t next;
	uint64_t stalls;
	/* The stall's own reading is followed by one that ends its storing. */
	bool settling;
};

static struct hist hist, work;
static struct gap gaps[LOG_SIZE];
static const atomic_bool never;

static uint64_t read_staller(void *source)
{
	struct staller *staller = source;
	uint64_t now = clock_now(staller->clock);

	if (staller->settling || now < staller->next) {
		staller->settling = false;
		return now;
	}
	for (const uint64_t end = now + staller->stall; now < end;)
		now = clock_now(staller->clock);
	staller->next += staller->interval;
	/* Foreign interruptions do not make it catch up. */
	if (staller->next < now)
		staller->next = now + staller->interval;
	staller->stalls++;
	staller->settling = true;
	return now;
}

static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long all = 0, resident = 0;

	if (file) {
		if (fscanf(file, "%ld %ld", &all, &resident) != 2)
			resident = 0;
		fclose(file);
	}
	return resident;
}

/* In its own time only: no stall can be made while another program runs. */
static double stalls_per_s(const struct spin *spin, const struct staller *staller, long seconds)
{
	const double own = (double)staller->stalls * (double)staller->stall;
	const double foreign = (double)spin->noise - own;
	const double hz = staller->clock->hz;

	return (double)staller->stalls / ((double)seconds - foreign / hz);
}

static void run_second(struct spin *spin, struct staller *staller)
{
	spin->reads = 0;
	staller->next = clock_now(staller->clock) + staller->interval;
	spin_loop(spin, read_staller, staller, &never);
}

int main(int argc, char *argv[])
{
	const long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 3600;
	struct clock_source clock;
	struct staller staller = { .clock = &clock };
	struct spin spin = { .hist = &hist, .work = &work, .log = gaps, .log_size = LOG_SIZE };
	long first = 0, most = 0;
	double ticks;

	clock_init(&clock);
	usleep(100000);
	clock_calibrate(&clock);
	ticks = clock.hz / 1e9;
	staller.interval = (uint64_t)(clock.hz / GAPS_PER_S);
	staller.stall = (uint64_t)(STALL_NS * ticks);
	spin.threshold = (uint64_t)(THRESHOLD_NS * ticks);
	spin.storing_max = spin.threshold;
	spin.window = (uint64_t)(NS_PER_MS * ticks);
	spin.duration = (uint64_t)clock.hz;
	spin.ns_per_tick = 1 / ticks;
	hist_reset(&hist);
	hist_reset(&work);
	memset(gaps, 1, sizeof(gaps));
	resident_pages();
	for (long i = 0; i < seconds; i++) {
		long pages;

		run_second(&spin, &staller);
		pages = resident_pages();
		first = i ? first : pages;
		most = pages > most ? pages : most;
	}
	printf("%ld s, %.0f stalls per own second, %" PRIu64 " gaps, %" PRIu64
	       " in the histogram, %" PRIu64 " logged, %" PRIu64
	       " beyond the log, longest %.1f us, resident %ld then at most %ld "
	       "pages\n",
	       seconds, stalls_per_s(&spin, &staller, seconds), spin.gaps, hist.total,
	       (uint64_t)spin.log_used, spin.log_lost, clock_ns(&clock, (double)spin.max) / 1000,
	       first, most);
	return !(seconds > 0 && staller.stalls <= spin.gaps && hist.total == spin.gaps &&
		 spin.log_used + spin.log_lost == spin.gaps &&
		 stalls_per_s(&spin, &staller, seconds) > 0.9 * GAPS_PER_S && most <= first + 8);
}
