/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replays time stamps through the detector's own loop and compares to the bit. */
#include "check.h"
#include "spin.h"
#include "tap.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define STAMPS 200000
#define LOG_SIZE 50000
#define LIMIT 50
#define STORE_TICKS 30

/* A clock that says what the test wrote; behind the end it goes on by one tick. */
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

static void test_stop(void)
{
	const atomic_bool now = true;
	uint64_t stamps[] = { 5, 15 };
	struct tape tape = { .stamps = stamps, .count = 2 };
	struct spin spin = make_spin(UINT64_C(1) << 60, 0);

	spin_loop(&spin, read_tape, &tape, &now);
	ok(spin.reads == SPIN_BATCH, "stop ends the loop after one batch");
}

/* What the check is for: time that went missing. */
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
	test_full_log();
	test_no_log();
	test_backwards();
	test_stop();
	test_unaccounted();
	return tap_end();
}
