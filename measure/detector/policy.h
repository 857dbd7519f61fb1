/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduling policy of the detectors, see sched(7). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cpulist.h"
#include "text.h"

#define POLICY_TEXT_MAX 64

enum policy_kind {
	POLICY_OTHER,
	POLICY_FIFO,
	POLICY_RR,
	POLICY_DEADLINE,
};

/* Zero-initialised is SCHED_OTHER. */
struct policy {
	enum policy_kind kind;
	/* For fifo and rr, 1 to 99; else 0. */
	int priority;
	/* For deadline: the run time in each period; the period is the deadline too. */
	uint64_t runtime_ns, period_ns;
};

/*
 * Parses "other", "fifo:N", "rr:N" or "deadline:RUNTIME/PERIOD" ("deadline:5ms/10ms").
 *
 * Returns 0, or -EINVAL if the text is no policy or out of the kernel's range (a period of 100us to
 * 4s, a runtime from 2us to the period).
 */
int policy_parse(const char *text, struct policy *ret);

/* Formats the policy for policy_parse(). Returns the buffer. */
const char *policy_format(const struct policy *policy, char buffer[POLICY_TEXT_MAX]);

/* Sets the policy of the calling thread. */
int policy_apply(const struct policy *policy);

/*
 * Whether the kernel grants the policy to a thread on each measured CPU. Tries it with the calling
 * thread, which is then bound to one of these CPUs, or to all of `online`. A deadline task's
 * bandwidth is free again on return: the kernel reserves it to the end of a period.
 *
 * Returns 0, or refuses (-EINVAL).
 */
int policy_check(const struct policy *policy, const struct cpulist *measured,
		 const struct cpulist *online);
