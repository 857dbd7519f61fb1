/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "throttle.h"
#include "tap.h"

#include "tree.h"
#include "units.h"

static const struct policy fifo = { .kind = POLICY_FIFO, .priority = 1 };
static const struct policy other;
static const struct policy deadline = {
	.kind = POLICY_DEADLINE,
	.runtime_ns = 5 * NS_PER_MS,
	.period_ns = 10 * NS_PER_MS,
};

static struct hist hist;

static void check_expected(const char *name, const struct policy *policy,
			   const struct throttle_settings *settings, enum throttle_kind kind,
			   double gap_ms)
{
	const struct throttle_pattern got = throttle_expect(policy, settings);

	ok(got.kind == kind && (kind == THROTTLE_NONE || got.gap_ns == gap_ms * NS_PER_MS), "%s",
	   name);
}

static void test_expected(void)
{
	const struct throttle_settings old = { 950000, 1000000, THROTTLE_UNKNOWN, THROTTLE_UNKNOWN,
					       false };
	const struct throttle_settings unbound = { -1, 1000000, THROTTLE_UNKNOWN, THROTTLE_UNKNOWN,
						   false };
	const struct throttle_settings fair = { 950000, 1000000, 20 * NS_PER_MS, NS_PER_S, true };
	const struct throttle_settings off = { 950000, 1000000, 0, NS_PER_S, true };
	const struct throttle_settings unread = { 950000, 1000000, THROTTLE_UNKNOWN,
						  THROTTLE_UNKNOWN, true };

	check_expected("other is not throttled", &other, &old, THROTTLE_NONE, 0);
	check_expected("an old kernel takes 50 ms a second", &fifo, &old, THROTTLE_RT, 50);
	check_expected("sched_rt_runtime_us of -1 takes none", &fifo, &unbound, THROTTLE_NONE, 0);
	check_expected("the fair server takes its runtime", &fifo, &fair, THROTTLE_FAIR_SERVER, 20);
	check_expected("a fair server without runtime takes none", &fifo, &off, THROTTLE_NONE, 0);
	check_expected("one that can't be read has the kernel's default", &fifo, &unread,
		       THROTTLE_FAIR_SERVER, 50);
	check_expected("deadline's own budget", &deadline, &old, THROTTLE_DEADLINE, 5);
}

static void test_found(void)
{
	const struct throttle_pattern pattern = { THROTTLE_RT, 50e6, 1e9 };
	struct throttle found;

	hist_reset(&hist);
	for (int i = 0; i < 1000; i++)
		hist_add(&hist, 5000);
	found = throttle_find(&pattern, &hist, 10e9);
	ok(found.pattern.kind == THROTTLE_NONE, "short gaps are not throttling");
	for (int i = 0; i < 4; i++)
		hist_add(&hist, 50 * NS_PER_MS);
	found = throttle_find(&pattern, &hist, 10e9);
	ok(found.pattern.kind == THROTTLE_NONE, "nor are four of 50 ms in ten seconds");
	for (int i = 0; i < 5; i++)
		hist_add(&hist, 51 * NS_PER_MS);
	found = throttle_find(&pattern, &hist, 10e9);
	ok(found.pattern.kind == THROTTLE_RT && found.events == 9, "nine are");
	ok(found.time_ns > 454e6 && found.time_ns < 456e6, "with their time");
	is_text(throttle_name(found.pattern.kind), "sched_rt_runtime_us", "and by their name");
	hist_reset(&hist);
	hist_add(&hist, 50 * NS_PER_MS);
	found = throttle_find(&pattern, &hist, 1.5e9);
	ok(found.pattern.kind == THROTTLE_NONE, "a single one is not");
	hist_reset(&hist);
	found = throttle_find(&pattern, &hist, 0.3e9);
	ok(found.pattern.kind == THROTTLE_NONE, "nothing is found in nothing");
}

static void test_settings(void)
{
	struct throttle_settings got;
	char root[TREE_PATH];

	tree_make(root);
	throttle_settings_read(root, "6.11.5", 3, &got);
	ok(got.rt_runtime_us == THROTTLE_UNKNOWN && got.fair_period_ns == THROTTLE_UNKNOWN &&
		   !got.fair_server,
	   "6.11 without anything to read");
	throttle_settings_read(root, "6.12.0-rt1", 3, &got);
	ok(got.fair_server, "6.12 has a fair server");
	tree_put(root, "proc/sys/kernel/sched_rt_runtime_us", "950000\n", 7);
	tree_put(root, "proc/sys/kernel/sched_rt_period_us", "1000000\n", 8);
	tree_put(root, "sys/kernel/debug/sched/fair_server/cpu3/runtime", "50000000\n", 9);
	tree_put(root, "sys/kernel/debug/sched/fair_server/cpu3/period", "1000000000\n", 11);
	throttle_settings_read(root, "6.8.0-backport", 3, &got);
	ok(got.rt_runtime_us == 950000 && got.rt_period_us == 1000000, "the real-time bounds");
	ok(got.fair_server && got.fair_runtime_ns == 50000000 && got.fair_period_ns == 1000000000,
	   "the CPU's fair server, whatever the version");
	tree_remove(root);
}

int main(void)
{
	test_expected();
	test_found();
	test_settings();
	return tap_end();
}
