/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduling policy of the detectors, as sched(7) has them. */
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
	/* Of fifo and rr, 1 to 99; 0 of the others. */
	int priority;
	/* Of deadline: so much time in each period, which is the deadline too. */
	uint64_t runtime_ns, period_ns;
};

/*
 * Parses "other", "fifo:N", "rr:N" or "deadline:RUNTIME/PERIOD" ("deadline:5ms/10ms").
 *
 * Returns 0, or -EINVAL where it is none of them or out of the kernel's range (a period of 100us to
 * 4s, a runtime from 2us to the period).
 */
int policy_parse(const char *text, struct policy *ret);

/* Writes it as policy_parse() reads it. Returns the buffer. */
const char *policy_format(const struct policy *policy, char buffer[POLICY_TEXT_MAX]);

/* Puts the calling thread under it. */
int policy_apply(const struct policy *policy);

/*
 * Whether the kernel grants it to a thread on each measured CPU: tries it with the calling one,
 * which is bound to one of them afterwards, or to all of `online`. A deadline's share of time is
 * free again on return: the kernel keeps it to the end of a period.
 *
 * Returns 0, or -EINVAL with the message set.
 */
int policy_check(const struct policy *policy, const struct cpulist *measured,
		 const struct cpulist *online, struct message *message);

/*
 * Task isolation by prctl(), which no mainline kernel has. Kernels with the patches of Metcalf and
 * Belits show it in /sys/devices/system/cpu/task_isolation; only then does the number mean that.
 *
 * root: "" for this machine, else a folder laid out like its root.
 */
bool isolation_offered(const char *root);

/* For the calling thread, which must be pinned; no signal is sent when it is broken. */
int isolation_enter(void);
void isolation_leave(void);
