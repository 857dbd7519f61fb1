/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel takes from a real-time detector lest others starve, seen in its gaps. */
#pragma once

#include <stdint.h>

#include "hist.h"
#include "policy.h"

/* What it looks like: a gap of about so long in each period. */
struct throttle_pattern {
	/* "deadline", "sched_rt_runtime_us" or "fair server"; NULL: nothing is taken. */
	const char *by;
	double gap_ns, period_ns;
};

struct throttle {
	struct throttle_pattern pattern;
	uint64_t events;
	double time_ns;
};

/*
 * What a detector under this policy has to expect on this CPU.
 *
 * root: "" for this machine, else a folder laid out like its root.
 * kernel: its release, which alone tells of the fair server where debugfs can't be read.
 */
struct throttle_pattern throttle_expect(const struct policy *policy, const char *root,
					const char *kernel, unsigned int cpu);

/* Counts the gaps that fit it; by NULL where they are fewer than two, or one in two periods. */
struct throttle throttle_find(const struct throttle_pattern *pattern, const struct hist *hist,
			      double runtime_ns);
