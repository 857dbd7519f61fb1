/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "throttle.h"

#include <math.h>
#include <stdio.h>

#include "text.h"
#include "units.h"

#define PROC "/proc/sys/kernel/"
#define FAIR_SERVER "/sys/kernel/debug/sched/fair_server/"

/* The kernel's defaults (kernel/sched/deadline.c, __dl_server_attach_root); for root only. */
#define FAIR_RUNTIME_NS ((int64_t)(50 * NS_PER_MS))
#define FAIR_PERIOD_NS ((int64_t)NS_PER_S)

/* A single gap may have any cause. */
#define EVENTS_MIN 2

/* Other interruptions lengthen a gap or divide it. */
#define FIT_LOW 0.7
#define FIT_HIGH 1.3

static bool has_fair_server(const char *kernel)
{
	int major = 0, minor = 0;

	return sscanf(kernel, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 12));
}

/* Ordinary tasks have waited (6.12, "sched/rt: Remove default bandwidth control"). */
static struct throttle_pattern by_fair_server(int64_t runtime_ns, int64_t period_ns)
{
	return (struct throttle_pattern){ runtime_ns ? "fair server" : NULL, (double)runtime_ns,
					  (double)period_ns };
}

/* Real-time tasks have run too long (up to 6.11; later with group scheduling). */
static struct throttle_pattern by_rt_runtime(int64_t runtime_us, int64_t period_us)
{
	if (runtime_us < 0 || period_us <= runtime_us)
		return (struct throttle_pattern){ 0 };
	return (struct throttle_pattern){ "sched_rt_runtime_us",
					  1e3 * (double)(period_us - runtime_us),
					  1e3 * (double)period_us };
}

struct throttle_pattern throttle_expect(const struct policy *policy, const char *root,
					const char *kernel, unsigned int cpu)
{
	const double runtime = (double)policy->runtime_ns, period = (double)policy->period_ns;
	int64_t fair_runtime = FAIR_RUNTIME_NS, fair_period = FAIR_PERIOD_NS;
	int64_t rt_runtime = -1, rt_period = 0;

	/* The policy's own budget is used up. */
	if (policy->kind == POLICY_DEADLINE && runtime < period)
		return (struct throttle_pattern){ "deadline", period - runtime, period };
	if (!policy->priority)
		return (struct throttle_pattern){ 0 };
	text_read_number(&fair_runtime, "%s" FAIR_SERVER "cpu%u/runtime", root, cpu);
	if (text_read_number(&fair_period, "%s" FAIR_SERVER "cpu%u/period", root, cpu) ||
	    has_fair_server(kernel))
		return by_fair_server(fair_runtime, fair_period);
	text_read_number(&rt_runtime, "%s" PROC "sched_rt_runtime_us", root);
	text_read_number(&rt_period, "%s" PROC "sched_rt_period_us", root);
	return by_rt_runtime(rt_runtime, rt_period);
}

struct throttle throttle_find(const struct throttle_pattern *pattern, const struct hist *hist,
			      double runtime_ns)
{
	struct throttle found = { .pattern = *pattern };
	struct hist_bucket bucket;

	if (!pattern->by)
		return found;
	for (size_t cursor = 0; hist_next(hist, &cursor, &bucket);) {
		const double middle = ((double)bucket.lower + (double)(bucket.upper - 1)) / 2;

		if (middle < FIT_LOW * pattern->gap_ns || middle > FIT_HIGH * pattern->gap_ns)
			continue;
		found.events += bucket.count;
		found.time_ns += middle * (double)bucket.count;
	}
	if ((double)found.events < fmax(EVENTS_MIN, floor(runtime_ns / pattern->period_ns / 2)))
		return (struct throttle){ 0 };
	return found;
}
