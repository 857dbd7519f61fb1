/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the kernel grants a policy to a thread on each measured CPU; tried beforehand. */
#pragma once

#include "cpulist.h"
#include "policy.h"
#include "text.h"

/*
 * Tries it with the calling thread, which is bound to one of the CPUs afterwards, or to all allowed
 * ones. A deadline's share of time is free again on return: the kernel keeps it to the end of a
 * period.
 *
 * online: where the thread may be bound at most.
 * Returns 0, or -EINVAL with the message set.
 */
int policy_check(const struct policy *policy, const struct cpulist *measured,
		 const struct cpulist *online, struct message *message);
