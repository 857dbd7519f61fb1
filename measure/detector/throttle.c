/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "throttle.h"

#include <math.h>
#include <stdio.h>

#include "text.h"
#include "units.h"

#define PROC "/proc/sys/kernel/"
#define FAIR_SERVER "/sys/kernel/debug/sched/fair_server/"

/* The kernel's own (kernel/sched/deadline.c, __dl_server_attach_root); readable as root only. */
#define FAIR_RUNTIME_NS ((double)(50 * NS_PER_MS))
#define FAIR_PERIOD_NS ((double)NS_PER_S)

/* One alone may be anybody's. */
#define EVENTS_MIN 2

/* Other interruptions lengthen a gap or cut it in two. */
#define FIT_LOW 0.7
#define FIT_HIGH 1.3

static bool has_fair_server(const char *kernel)
{
	int major = 0, minor = 0;

	return sscanf(kernel, "%d.%d", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 12));
}

void throttle_settings_read(const char *root, const char *kernel, unsigned int cpu,
			    struct throttle_settings *ret)
{
	*ret = (struct throttle_settings){ THROTTLE_UNKNOWN, THROTTLE_UNKNOWN, THROTTLE_UNKNOWN,
					   THROTTLE_UNKNOWN, false };
	text_read_number(&ret->rt_runtime_us, "%s" PROC "sched_rt_runtime_us", root);
	text_read_number(&ret->rt_period_us, "%s" PROC "sched_rt_period_us", root);
	text_read_number(&ret->fair_runtime_ns, "%s" FAIR_SERVER "cpu%u/runtime", root, cpu);
	text_read_number(&ret->fair_period_ns, "%s" FAIR_SERVER "cpu%u/period", root, cpu);
	ret->fair_server = ret->fair_period_ns > 0 || has_fair_server(kernel);
}

static struct throttle_pattern of_fifo(const struct throttle_settings *settings)
{
	const double rt_runtime = 1e3 * (double)settings->rt_runtime_us;
	const double rt_period = 1e3 * (double)settings->rt_period_us;
	const bool read = settings->fair_period_ns > 0;

	if (settings->fair_server)
		return (struct throttle_pattern){
			settings->fair_runtime_ns ? THROTTLE_FAIR_SERVER : THROTTLE_NONE,
			read ? (double)settings->fair_runtime_ns : FAIR_RUNTIME_NS,
			read ? (double)settings->fair_period_ns : FAIR_PERIOD_NS,
		};
	if (rt_runtime < 0 || rt_period <= rt_runtime)
		return (struct throttle_pattern){ .kind = THROTTLE_NONE };
	return (struct throttle_pattern){ THROTTLE_RT, rt_period - rt_runtime, rt_period };
}

struct throttle_pattern throttle_expect(const struct policy *policy,
					const struct throttle_settings *settings)
{
	const double runtime = (double)policy->runtime_ns, period = (double)policy->period_ns;

	if (policy->priority)
		return of_fifo(settings);
	if (policy->kind == POLICY_DEADLINE && runtime < period)
		return (struct throttle_pattern){ THROTTLE_DEADLINE, period - runtime, period };
	return (struct throttle_pattern){ .kind = THROTTLE_NONE };
}

struct throttle throttle_find(const struct throttle_pattern *pattern, const struct hist *hist,
			      double runtime_ns)
{
	struct throttle found = { .pattern = *pattern };
	struct hist_bucket bucket;

	if (pattern->kind == THROTTLE_NONE)
		return found;
	for (size_t cursor = 0; hist_next(hist, &cursor, &bucket);) {
		const double middle = ((double)bucket.lower + (double)(bucket.upper - 1)) / 2;

		if (middle < FIT_LOW * pattern->gap_ns || middle > FIT_HIGH * pattern->gap_ns)
			continue;
		found.events += bucket.count;
		found.time_ns += middle * (double)bucket.count;
	}
	if ((double)found.events < fmax(EVENTS_MIN, floor(runtime_ns / pattern->period_ns / 2)))
		return (struct throttle){ .pattern = { .kind = THROTTLE_NONE } };
	return found;
}

const char *throttle_name(enum throttle_kind kind)
{
	static const char *const names[] = {
		[THROTTLE_DEADLINE] = "deadline",
		[THROTTLE_RT] = "sched_rt_runtime_us",
		[THROTTLE_FAIR_SERVER] = "fair server",
	};

	return names[kind];
}
