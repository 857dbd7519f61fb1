/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replays time stamps through the detector's own loop and compares to the bit. */
#include "steps.h"
#include "clock.h"
#include "spin.h"
#include "tap.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define STAMPS 200000
#define LOG_SIZE 50000
#define LIMIT 50
#define STORE_TICKS 30
#define STORING_MAX 2000

/* A clock with the test's readings; after the last one it advances by one tick per reading. */
struct tape {
	uint64_t *stamps;
	size_t count;
	size_t next;
};

static struct hist hist, truth_hist;
static struct gap log_space[LOG_SIZE], truth[LOG_SIZE];
static const atomic_bool never;

static uint64_t read_tape(void *source)
{
	struct tape *tape = source;

	if (tape->next < tape->count)
		return tape->stamps[tape->next++];
	return tape->stamps[tape->count - 1] + ++tape->next - tape->count;
}

static struct spin make_spin(uint64_t duration, size_t log_size)
{
	hist_reset(&hist);
	return (struct spin){
		.threshold = LIMIT,
		.duration = duration,
		.levels = { LIMIT, 1000, 10000, 100000 },
		.storing_max = STORING_MAX,
		.ns_per_tick = 0.5,
		.hist = &hist,
		.log = log_space,
		.log_size = log_size,
	};
}

/* Lengths around the threshold and over all magnitudes. */
static uint64_t next_length(void)
{
	switch (rand() % 50) {
	case 0:
		return LIMIT;
	case 1:
		return LIMIT + 1;
	case 2:
		return LIMIT + (uint64_t)(rand() % 1000);
	case 3:
		return UINT64_C(1) << (6 + rand() % 35);
	default:
		return 18 + (uint64_t)(rand() % 4);
	}
}

struct expected {
	uint64_t gaps;
	uint64_t noise;
	uint64_t dead;
	uint64_t max;
	uint64_t over[SPIN_LEVELS];
};

static void expect_gap(const struct spin *spin, uint64_t begin, uint64_t end, struct expected *ret)
{
	const uint64_t length = end - begin;

	truth[ret->gaps++] = (struct gap){ begin, end };
	ret->noise += length;
	ret->max = length > ret->max ? length : ret->max;
	for (int i = 0; i < SPIN_LEVELS; i++)
		ret->over[i] += length > spin->levels[i];
	hist_add(&truth_hist, (uint64_t)((double)length * 0.5));
}

/* Writes the tape and, by the definition alone, what has to be found on it. */
static struct expected record(struct tape *tape, const struct spin *spin)
{
	struct expected expected = { 0 };
	uint64_t now = 1000;

	hist_reset(&truth_hist);
	tape->stamps[tape->count++] = now;
	while (tape->count < STAMPS) {
		const uint64_t length = next_length();

		now += length;
		tape->stamps[tape->count++] = now;
		if (length <= LIMIT)
			continue;
		expect_gap(spin, now - length, now, &expected);
		now += STORE_TICKS;
		expected.dead += STORE_TICKS;
		tape->stamps[tape->count++] = now;
	}
	return expected;
}

static void test_replay(void)
{
	struct tape tape = { .stamps = calloc(STAMPS + 2, sizeof(uint64_t)) };
	struct spin spin = make_spin(0, LOG_SIZE);
	struct expected expected;

	srand(1);
	expected = record(&tape, &spin);
	spin.duration = tape.stamps[tape.count - 1] - tape.stamps[0];
	spin_loop(&spin, read_tape, &tape, &never);
	ok(spin.gaps == expected.gaps && spin.gaps > 10000, "%" PRIu64 " gaps, all of them",
	   spin.gaps);
	ok(spin.log_used == expected.gaps &&
		   !memcmp(log_space, truth, expected.gaps * sizeof(*truth)),
	   "the event log is equal to the bit");
	ok(!memcmp(&hist, &truth_hist, sizeof(hist)), "the histogram is equal to the bit");
	ok(spin.noise == expected.noise && spin.dead == expected.dead && spin.max == expected.max,
	   "noise, dead time and maximum are equal");
	ok(!memcmp(spin.over, expected.over, sizeof(spin.over)),
	   "counts above each level are equal");
	ok(spin.begin == tape.stamps[0] && spin.end >= tape.stamps[tape.count - 1] &&
		   spin.end - tape.stamps[tape.count - 1] <= SPIN_BATCH,
	   "begin and end");
	ok(fabs(check_unaccounted(&spin)) < 0.01, "conservation holds (%.5f)",
	   check_unaccounted(&spin));
	free(tape.stamps);
}

/*
 * Readings of this machine's clock, its gaps included. The expectation follows the definition: a
 * reading further than the limit from the previous one ends a gap, and the next reading ends the
 * storing. The last reading ends no gap; a gap before it ends with its storing.
 */
static struct expected expect_recorded(const struct tape *tape, const struct spin *spin)
{
	struct expected expected = { 0 };

	hist_reset(&truth_hist);
	for (size_t i = 1; i < tape->count; i++) {
		if (tape->stamps[i] - tape->stamps[i - 1] <= spin->threshold)
			continue;
		expect_gap(spin, tape->stamps[i - 1], tape->stamps[i], &expected);
		for (; tape->stamps[i + 1] - tape->stamps[i] > spin->storing_max; i++)
			expect_gap(spin, tape->stamps[i], tape->stamps[i + 1], &expected);
		expected.dead += tape->stamps[i + 1] - tape->stamps[i];
		i++;
	}
	return expected;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* A threshold that one step in fifty exceeds, however slow this build is. */
static uint64_t choose_limit(const struct tape *tape)
{
	uint64_t *steps = calloc(tape->count, sizeof(*steps)), limit;

	for (size_t i = 1; i < tape->count; i++)
		steps[i] = tape->stamps[i] - tape->stamps[i - 1];
	qsort(steps, tape->count, sizeof(*steps), compare);
	limit = steps[tape->count / 50 * 49];
	free(steps);
	return limit;
}

static void test_recorded(void)
{
	struct tape tape = { .stamps = calloc(STAMPS, sizeof(uint64_t)), .count = STAMPS };
	struct spin spin = make_spin(0, LOG_SIZE);
	struct expected expected;
	struct clock_source clock;

	clock_init(&clock);
	for (size_t i = 0; i < STAMPS - 1; i++) {
		tape.stamps[i] = clock_now(&clock);
		/* Few gaps come by themselves in so short a time. */
		for (volatile int j = 0; i % 97 == 0 && j < 100; j++)
			;
	}
	tape.stamps[STAMPS - 1] = tape.stamps[STAMPS - 2] + 1;
	spin.threshold = choose_limit(&tape);
	spin.storing_max = 4 * spin.threshold;
	expected = expect_recorded(&tape, &spin);
	spin.duration = tape.stamps[STAMPS - 1] - tape.stamps[0];
	spin_loop(&spin, read_tape, &tape, &never);
	ok(spin.gaps == expected.gaps && spin.gaps > 100 && spin.log_used == expected.gaps &&
		   !memcmp(log_space, truth, expected.gaps * sizeof(*truth)),
	   "recorded: %" PRIu64 " gaps, equal to the bit", spin.gaps);
	ok(!memcmp(&hist, &truth_hist, sizeof(hist)) && spin.max == expected.max &&
		   spin.noise == expected.noise && spin.dead == expected.dead,
	   "recorded: histogram, maximum, noise and dead time too");
	free(tape.stamps);
}

/* A pace of `ticks` a reading until `until`, with a gap and its storing now and then. */
static void pace(struct tape *tape, uint64_t ticks, uint64_t until, uint64_t gap)
{
	uint64_t now = tape->count ? tape->stamps[tape->count - 1] : 0;

	for (size_t i = 0; now < until; i++) {
		now += gap && i % 500 == 250 ? gap : ticks;
		tape->stamps[tape->count++] = now;
	}
}

static struct spin make_windowed(uint64_t duration, struct hist *work)
{
	struct spin spin = make_spin(duration, 0);

	hist_reset(work);
	spin.work = work;
	spin.window = 10000;
	return spin;
}

static void test_windows(void)
{
	struct tape tape = { .stamps = calloc(STAMPS, sizeof(uint64_t)) };
	struct hist work;
	struct spin spin = make_windowed(990000, &work);
	struct spin_live live = { 0 };

	spin.live = &live;
	pace(&tape, 10, 300000, 0);
	pace(&tape, 10, 600000, 1000);
	pace(&tape, 20, 700000, 0);
	pace(&tape, 10, 1000000, 0);
	spin_loop(&spin, read_tape, &tape, &never);
	ok(work.total >= 95 && work.total <= 99, "%" PRIu64 " windows", work.total);
	ok(hist_value_at(&work, 0.5) == 1000 && work.max == 1000,
	   "a window holds what it would hold without its gaps");
	ok(work.min == 500 && hist_value_at(&work, 0.09) == 500 &&
		   hist_value_at(&work, 0.12) == 1000,
	   "a tenth of the time at half the pace is seen");
	ok(live.clean_reads == spin.clean_reads && live.clean_ticks == spin.clean_ticks &&
		   live.gaps == 50,
	   "others may read so meanwhile");
	ok(spin.gaps == 50 && fabs(check_unaccounted(&spin)) < 0.01,
	   "with windows all time is accounted for (%.5f left)", check_unaccounted(&spin));
	free(tape.stamps);
}

/* Longer than the window, and longer than half of one. */
static void test_lost_windows(void)
{
	struct tape tape = { .stamps = calloc(STAMPS, sizeof(uint64_t)) };
	struct hist work;
	struct spin spin = make_windowed(190000, &work);

	pace(&tape, 10, 50000, 0);
	tape.stamps[tape.count++] = 100001;
	pace(&tape, 10, 110000, 0);
	for (int i = 0; i < 20; i++) {
		pace(&tape, 10, tape.stamps[tape.count - 1] + 1000, 0);
		tape.stamps[tape.count] = tape.stamps[tape.count - 1] + 3000;
		tape.count++;
	}
	pace(&tape, 10, 200000, 0);
	spin_loop(&spin, read_tape, &tape, &never);
	ok(work.total >= 4 && work.total <= 8, "disturbed windows tell nothing (%" PRIu64 " told)",
	   work.total);
	ok(work.min == work.max, "and make no difference to the others");
	free(tape.stamps);
}

static void test_full_log(void)
{
	uint64_t stamps[] = { 0, 100, 110, 300, 310, 1300, 1310, 1320 };
	struct tape tape = { .stamps = stamps, .count = 8 };
	struct spin spin = make_spin(1320, 1);

	spin_loop(&spin, read_tape, &tape, &never);
	ok(spin.gaps == 3 && spin.log_used == 1 && spin.log_lost == 2,
	   "a full log counts its losses");
	ok(hist.total == 3 && spin.max == 990, "the histogram and the maximum lose nothing");
}

static void test_no_log(void)
{
	uint64_t stamps[] = { 0, 100, 110, 300, 310, 320 };
	struct tape tape = { .stamps = stamps, .count = 6 };
	struct spin spin = make_spin(320, 0);

	spin_loop(&spin, read_tape, &tape, &never);
	ok(spin.gaps == 2 && spin.log_lost == 0, "without a log nothing counts as lost");
}

static void test_backwards(void)
{
	uint64_t stamps[] = { 1000, 1010, 900, 910, 920, 1100, 1110, 1120, 1130, 1140 };
	struct tape tape = { .stamps = stamps, .count = 10 };
	struct spin spin = make_spin(140, 1);

	spin_loop(&spin, read_tape, &tape, &never);
	ok(spin.backwards == 1 && spin.max == 180 && spin.gaps == 1,
	   "a clock that goes back is counted and makes no gap");
}

/* An interruption while a gap is stored, and another one while that is stored. */
static void test_interrupted_storing(void)
{
	const uint64_t far = 1000000;
	uint64_t stamps[] = { 0, 100, far, 2 * far, 2 * far + 30, 2 * far + 40, 2 * far + 50 };
	struct tape tape = { .stamps = stamps, .count = 7 };
	struct spin spin = make_spin(2 * far + 50, 3);

	spin_loop(&spin, read_tape, &tape, &never);
	ok(spin.gaps == 3 && hist.total == 3 && log_space[2].begin == far &&
		   log_space[2].end == 2 * far,
	   "what interrupts the storing of a gap is a gap");
	ok(spin.max == far && spin.dead == 30, "and neither dead time nor lost to the maximum");
}

static void test_stop(void)
{
	const atomic_bool now = true;
	uint64_t stamps[] = { 5, 15 };
	struct tape tape = { .stamps = stamps, .count = 2 };
	struct spin spin = make_spin(UINT64_C(1) << 60, 0);

	spin_loop(&spin, read_tape, &tape, &now);
	ok(spin.reads == SPIN_BATCH, "stop ends the loop after one batch");
}

/* The purpose of the check: lost time. */
static void test_unaccounted(void)
{
	struct spin spin = { .end = 1000000,
			     .reads = 40000,
			     .gaps = 1000,
			     .noise = 150000,
			     .dead = 70000,
			     .clean_reads = 30000,
			     .clean_ticks = 600000 };

	ok(fabs(check_unaccounted(&spin)) < 1e-9, "all time accounted for");
	spin.noise -= 20000;
	ok(check_unaccounted(&spin) > 0.019, "a shortened gap is seen");
	spin.noise += 40000;
	ok(check_unaccounted(&spin) < -0.019, "a gap counted twice is seen");
	spin.clean_reads = 0;
	ok(check_unaccounted(&spin) == 1, "without an undisturbed batch nothing is known");
}

int main(void)
{
	test_replay();
	test_recorded();
	test_windows();
	test_lost_windows();
	test_full_log();
	test_no_log();
	test_backwards();
	test_interrupted_storing();
	test_stop();
	test_unaccounted();
	return tap_end();
}
