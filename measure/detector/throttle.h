/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Throttling: the time that the kernel takes from a real-time detector for other tasks. */
#pragma once

#include <stdint.h>

#include "hist.h"
#include "policy.h"

/* The expected pattern: a gap of about this length in each period. */
struct throttle_pattern {
	/* "deadline", "sched_rt_runtime_us" or "fair server"; NULL: no throttling. */
	const char *by;
	double gap_ns, period_ns;
};

struct throttle {
	struct throttle_pattern pattern;
	uint64_t events;
	double time_ns;
};

/*
 * The throttling to expect for a detector under this policy on this CPU.
 *
 * root: "" for this machine, else a folder laid out like its root. kernel: its release, which shows
 * whether there is a fair server if debugfs can't be read.
 */
struct throttle_pattern throttle_expect(const struct policy *policy, const char *root,
					const char *kernel, unsigned int cpu);

/* Counts the gaps that fit; by is NULL if they are fewer than two, or than one in two periods. */
struct throttle throttle_find(const struct throttle_pattern *pattern, const struct hist *hist,
			      double runtime_ns);
