/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel takes from a real-time detector lest others starve, seen in its gaps. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hist.h"
#include "policy.h"

/* Who takes time away. */
enum throttle_kind {
	THROTTLE_NONE,
	/* The budget of the policy itself is spent. */
	THROTTLE_DEADLINE,
	/* sched_rt_runtime_us: all real-time tasks (up to 6.11, later by group scheduling). */
	THROTTLE_RT,
	/* Ordinary tasks have waited (6.12, "sched/rt: Remove default bandwidth control"). */
	THROTTLE_FAIR_SERVER,
};

/* What can't be read. */
#define THROTTLE_UNKNOWN INT64_MIN

/* As the kernel has them set; rt_runtime_us is -1 where nothing is bounded. */
struct throttle_settings {
	int64_t rt_runtime_us, rt_period_us;
	int64_t fair_runtime_ns, fair_period_ns;
	/* The kernel has a fair server, whether its settings can be read or not. */
	bool fair_server;
};

/* What it looks like: a gap of about so long in each period. */
struct throttle_pattern {
	enum throttle_kind kind;
	double gap_ns, period_ns;
};

struct throttle {
	struct throttle_pattern pattern;
	uint64_t events;
	double time_ns;
};

/*
 * Reads the settings; the fair server's are the CPU's own, in debugfs.
 *
 * root: "" for this machine, else a folder laid out like its root.
 * kernel: its release, which alone tells of the fair server where debugfs can't be read.
 */
void throttle_settings_read(const char *root, const char *kernel, unsigned int cpu,
			    struct throttle_settings *ret);

/* What a detector under this policy has to expect; THROTTLE_NONE where nothing is taken. */
struct throttle_pattern throttle_expect(const struct policy *policy,
					const struct throttle_settings *settings);

/* Counts the gaps that fit it; NONE where they are fewer than two, or one in two periods. */
struct throttle throttle_find(const struct throttle_pattern *pattern, const struct hist *hist,
			      double runtime_ns);

/* "deadline", "sched_rt_runtime_us", "fair server"; NULL for none. */
const char *throttle_name(enum throttle_kind kind);
