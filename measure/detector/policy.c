/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "units.h"

/* The kernel's defaults of sched_deadline_period_min_us and _max_us, and its DL_SCALE. */
#define PERIOD_MIN (100 * NS_PER_US)
#define PERIOD_MAX (4 * NS_PER_S)
#define RUNTIME_MIN (2 * NS_PER_US)

#define FIFO_PREFIX "fifo:"
#define RR_PREFIX "rr:"
#define DEADLINE_PREFIX "deadline:"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

/* sched_setattr(2), first version: only the newest C libraries declare it. */
struct attributes {
	uint32_t size;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime;
	uint64_t deadline;
	uint64_t period;
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int parse_priority(const char *text, enum policy_kind kind, struct policy *ret)
{
	uint64_t priority;

	if (parse_u64(text, &priority) || priority < 1 || priority > 99)
		return -EINVAL;
	*ret = (struct policy){ .kind = kind, .priority = (int)priority };
	return 0;
}

static int parse_deadline(const char *text, struct policy *ret)
{
	const char *slash = strchr(text, '/');
	struct policy policy = { .kind = POLICY_DEADLINE };
	char runtime[POLICY_TEXT_MAX / 2];

	if (!slash || (size_t)(slash - text) >= sizeof(runtime))
		return -EINVAL;
	snprintf(runtime, sizeof(runtime), "%.*s", (int)(slash - text), text);
	if (parse_time(runtime, &policy.runtime_ns) || parse_time(slash + 1, &policy.period_ns))
		return -EINVAL;
	if (policy.period_ns < PERIOD_MIN || policy.period_ns > PERIOD_MAX ||
	    policy.runtime_ns < RUNTIME_MIN || policy.runtime_ns > policy.period_ns)
		return -EINVAL;
	*ret = policy;
	return 0;
}

int policy_parse(const char *text, struct policy *ret)
{
	if (starts_with(text, FIFO_PREFIX))
		return parse_priority(text + strlen(FIFO_PREFIX), POLICY_FIFO, ret);
	if (starts_with(text, RR_PREFIX))
		return parse_priority(text + strlen(RR_PREFIX), POLICY_RR, ret);
	if (starts_with(text, DEADLINE_PREFIX))
		return parse_deadline(text + strlen(DEADLINE_PREFIX), ret);
	if (strcmp(text, "other"))
		return -EINVAL;
	*ret = (struct policy){ .kind = POLICY_OTHER };
	return 0;
}

const char *policy_format(const struct policy *policy, char buffer[POLICY_TEXT_MAX])
{
	char runtime[32], period[32];

	if (policy->priority)
		snprintf(buffer, POLICY_TEXT_MAX, "%s%d",
			 policy->kind == POLICY_RR ? RR_PREFIX : FIFO_PREFIX, policy->priority);
	else if (policy->kind == POLICY_DEADLINE)
		snprintf(buffer, POLICY_TEXT_MAX, DEADLINE_PREFIX "%s/%s",
			 format_time(policy->runtime_ns, runtime, sizeof(runtime)),
			 format_time(policy->period_ns, period, sizeof(period)));
	else
		snprintf(buffer, POLICY_TEXT_MAX, "other");
	return buffer;
}

int policy_apply(const struct policy *policy)
{
	static const uint32_t numbers[] = {
		[POLICY_OTHER] = SCHED_OTHER,
		[POLICY_FIFO] = SCHED_FIFO,
		[POLICY_RR] = SCHED_RR,
		[POLICY_DEADLINE] = SCHED_DEADLINE,
	};
	const struct attributes attributes = {
		.size = sizeof(attributes),
		.policy = numbers[policy->kind],
		.priority = (uint32_t)policy->priority,
		.runtime = policy->runtime_ns,
		.deadline = policy->period_ns,
		.period = policy->period_ns,
	};

	/* No request then: old kernels lack sched_setattr(). */
	if (policy->kind == POLICY_OTHER && sched_getscheduler(0) == SCHED_OTHER &&
	    getpriority(PRIO_PROCESS, 0) == 0)
		return 0;
	return syscall(SYS_sched_setattr, 0, &attributes, 0) ? -errno : 0;
}

static int try_policy(const struct policy *policy)
{
	const struct policy other = { .kind = POLICY_OTHER };
	int err = policy_apply(policy);

	policy_apply(&other);
	return err;
}

static int not_permitted(const char *policy, int err)
{
	return refuse("--policy %s: not permitted (%s); run as root or raise LimitRTPRIO", policy,
		      strerror(-err));
}

/*
 * Under admission control (sched_rt_runtime_us is not -1) a deadline task must be allowed on all
 * CPUs of its scheduling domain (sched-deadline.rst, section 5). It can be bound to one CPU only if
 * that CPU is a domain of its own.
 */
static int explain_deadline(const struct policy *policy, const char *text, unsigned int cpu,
			    const struct cpulist *online, int err)
{
	int everywhere;

	if (err == -EBUSY)
		return refuse("--policy %s: CPU %u has less free time than that; give a "
			      "shorter runtime",
			      text, cpu);
	cpulist_bind(online);
	everywhere = try_policy(policy);
	if (everywhere == -EPERM)
		return not_permitted(text, everywhere);
	return refuse("--policy %s: the kernel binds a deadline task to CPU %u alone (%s) only in "
		      "a cpuset partition of that CPU; run inside one, or set "
		      "kernel.sched_rt_runtime_us to -1 meanwhile, or use fifo:1",
		      text, cpu, strerror(-err));
}

static int check_deadline(const struct policy *policy, const char *text,
			  const struct cpulist *measured, const struct cpulist *online)
{
	for (size_t i = 0; i < measured->count; i++) {
		const struct cpulist one = { .cpus = &measured->cpus[i], .count = 1 };
		int err = cpulist_bind(&one);

		err = err ? err : try_policy(policy);
		if (err)
			return explain_deadline(policy, text, measured->cpus[i], online, err);
	}
	usleep((useconds_t)(policy->period_ns / NS_PER_US));
	return 0;
}

/* A user may not lower the nice value, and a nice detector would measure other noise. */
static int check_nice(void)
{
	const struct policy other = { .kind = POLICY_OTHER };
	const int nice = getpriority(PRIO_PROCESS, 0);
	int err = policy_apply(&other);

	setpriority(PRIO_PROCESS, 0, nice);
	if (err)
		return refuse("--policy other: the detectors may not leave nice %d (%s); start "
			      "without nice",
			      nice, strerror(-err));
	return 0;
}

int policy_check(const struct policy *policy, const struct cpulist *measured,
		 const struct cpulist *online)
{
	char text[POLICY_TEXT_MAX];
	int err;

	if (policy->kind == POLICY_OTHER)
		return check_nice();
	policy_format(policy, text);
	if (policy->kind == POLICY_DEADLINE)
		return check_deadline(policy, text, measured, online);
	err = try_policy(policy);
	return err ? not_permitted(text, err) : 0;
}
