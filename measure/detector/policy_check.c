/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "units.h"

static int try_policy(const struct policy *policy)
{
	const struct policy other = { .kind = POLICY_OTHER };
	int err = policy_apply(policy);

	policy_apply(&other);
	return err;
}

static int not_permitted(const char *policy, int err, struct message *message)
{
	return message_set(message,
			   "--policy %s: not permitted (%s); run as root or raise LimitRTPRIO",
			   policy, strerror(-err));
}

/*
 * Under admission control (sched_rt_runtime_us is not -1) a deadline task has to be allowed on all
 * CPUs of its scheduling domain (sched-deadline.rst, section 5), so it can be bound to one CPU only
 * where that is a domain of its own.
 */
static int explain_deadline(const struct policy *policy, const char *text, unsigned int cpu,
			    const struct cpulist *online, int err, struct message *message)
{
	int everywhere;

	if (err == -EBUSY)
		return message_set(message,
				   "--policy %s: so much time is not free on CPU %u; give a "
				   "shorter runtime",
				   text, cpu);
	cpulist_bind(online);
	everywhere = try_policy(policy);
	if (everywhere == -EPERM)
		return not_permitted(text, everywhere, message);
	return message_set(message,
			   "--policy %s: the kernel binds a deadline task to CPU %u alone (%s) "
			   "only in a cpuset partition of that CPU; run inside one, or set "
			   "kernel.sched_rt_runtime_us to -1 meanwhile, or use fifo:1",
			   text, cpu, strerror(-err));
}

static int check_deadline(const struct policy *policy, const char *text,
			  const struct cpulist *measured, const struct cpulist *online,
			  struct message *message)
{
	for (size_t i = 0; i < measured->count; i++) {
		const struct cpulist one = { .cpus = &measured->cpus[i], .count = 1 };
		int err = cpulist_bind(&one);

		err = err ? err : try_policy(policy);
		if (err)
			return explain_deadline(policy, text, measured->cpus[i], online, err,
						message);
	}
	usleep((useconds_t)(policy->period_ns / NS_PER_US));
	return 0;
}

/* A user may not come back from being nice, and a nice detector would find other noise. */
static int check_nice(struct message *message)
{
	const struct policy other = { .kind = POLICY_OTHER };
	const int nice = getpriority(PRIO_PROCESS, 0);
	int err = policy_apply(&other);

	setpriority(PRIO_PROCESS, 0, nice);
	if (err)
		return message_set(
			message,
			"--policy other: the detectors may not leave nice %d (%s); start "
			"without nice",
			nice, strerror(-err));
	return 0;
}

int policy_check(const struct policy *policy, const struct cpulist *measured,
		 const struct cpulist *online, struct message *message)
{
	char text[POLICY_TEXT_MAX];
	int err;

	if (policy->kind == POLICY_OTHER)
		return check_nice(message);
	policy_format(policy, text);
	if (policy->kind == POLICY_DEADLINE)
		return check_deadline(policy, text, measured, online, message);
	err = try_policy(policy);
	return err ? not_permitted(text, err, message) : 0;
}
