/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "throttle.h"
#include "tap.h"

#include <string.h>

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

static char root[TREE_PATH];

static void put(const char *path, const char *text)
{
	tree_put(root, path, text, strlen(text));
}

/* by: NULL for nothing. */
static void check_expected(const char *name, const struct policy *policy, const char *kernel,
			   const char *by, double gap_ms)
{
	const struct throttle_pattern got = throttle_expect(policy, root, kernel, 3);

	ok(by ? got.by && !strcmp(got.by, by) && got.gap_ns == gap_ms * NS_PER_MS : !got.by, "%s",
	   name);
}

static void test_expected(void)
{
	tree_make(root);
	check_expected("6.11 without anything to read takes none", &fifo, "6.11.5", NULL, 0);
	check_expected("a fair server that can't be read has the kernel's default", &fifo,
		       "6.12.0-rt1", "fair server", 50);
	put("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
	put("proc/sys/kernel/sched_rt_period_us", "1000000\n");
	check_expected("sched_rt_runtime_us of -1 takes none", &fifo, "6.11.5", NULL, 0);
	put("proc/sys/kernel/sched_rt_runtime_us", "950000\n");
	check_expected("other is not throttled", &other, "6.11.5", NULL, 0);
	check_expected("an old kernel takes 50 ms a second", &fifo, "6.11.5", "sched_rt_runtime_us",
		       50);
	check_expected("deadline's own budget", &deadline, "6.11.5", "deadline", 5);
	put("sys/kernel/debug/sched/fair_server/cpu3/runtime", "20000000\n");
	put("sys/kernel/debug/sched/fair_server/cpu3/period", "1000000000\n");
	check_expected("the fair server takes its runtime, whatever the version", &fifo,
		       "6.8.0-backport", "fair server", 20);
	put("sys/kernel/debug/sched/fair_server/cpu3/runtime", "0\n");
	check_expected("a fair server without runtime takes none", &fifo, "6.12.0", NULL, 0);
	tree_remove(root);
}

static void test_found(void)
{
	const struct throttle_pattern pattern = { "sched_rt_runtime_us", 50e6, 1e9 };
	struct throttle found;

	hist_reset(&hist);
	for (int i = 0; i < 1000; i++)
		hist_add(&hist, 5000);
	found = throttle_find(&pattern, &hist, 10e9);
	ok(!found.pattern.by, "short gaps are not throttling");
	for (int i = 0; i < 4; i++)
		hist_add(&hist, 50 * NS_PER_MS);
	found = throttle_find(&pattern, &hist, 10e9);
	ok(!found.pattern.by, "nor are four of 50 ms in ten seconds");
	for (int i = 0; i < 5; i++)
		hist_add(&hist, 51 * NS_PER_MS);
	found = throttle_find(&pattern, &hist, 10e9);
	ok(found.events == 9, "nine are");
	ok(found.time_ns > 454e6 && found.time_ns < 456e6, "with their time");
	is_text(found.pattern.by, "sched_rt_runtime_us", "and by their name");
	hist_reset(&hist);
	hist_add(&hist, 50 * NS_PER_MS);
	found = throttle_find(&pattern, &hist, 1.5e9);
	ok(!found.pattern.by, "a single one is not");
	hist_reset(&hist);
	found = throttle_find(&pattern, &hist, 0.3e9);
	ok(!found.pattern.by, "nothing is found in nothing");
}

int main(void)
{
	test_expected();
	test_found();
	return tap_end();
}
