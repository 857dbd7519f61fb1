/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy.h"
#include "tap.h"

#include <errno.h>
#include <sched.h>

#include "units.h"

static void check_round_trip(const char *text)
{
	char buffer[POLICY_TEXT_MAX];
	struct policy policy;

	ok(!policy_parse(text, &policy), "%s is one", text);
	is_text(policy_format(&policy, buffer), text, "and is written as it was read");
}

static void check_refused(const char *text)
{
	struct policy policy;

	ok(policy_parse(text, &policy) == -EINVAL, "'%s' is none", text);
}

int main(void)
{
	const struct policy other = { .kind = POLICY_OTHER };
	const struct policy unaffordable = {
		.kind = POLICY_DEADLINE,
		.runtime_ns = 2 * NS_PER_S,
		.period_ns = NS_PER_S,
	};
	struct policy policy;

	check_round_trip("other");
	check_round_trip("fifo:1");
	check_round_trip("fifo:99");
	check_round_trip("rr:1");
	check_round_trip("deadline:5ms/10ms");
	check_round_trip("deadline:2us/100us");
	check_round_trip("deadline:4s/4s");
	ok(!policy_parse("deadline:5ms/10ms", &policy) && policy.runtime_ns == 5 * NS_PER_MS &&
		   policy.period_ns == 10 * NS_PER_MS && policy.priority == 0,
	   "runtime and period");

	check_refused("");
	check_refused("fifo");
	check_refused("fifo:0");
	check_refused("fifo:100");
	check_refused("fifo:1 ");
	check_refused("rr:0");
	check_refused("deadline:");
	check_refused("deadline:5ms");
	check_refused("deadline:5ms/");
	check_refused("deadline:/10ms");
	check_refused("deadline:11ms/10ms");
	check_refused("deadline:1us/10ms");
	check_refused("deadline:5us/50us");
	check_refused("deadline:5ms/5s");
	check_refused("deadline:5/10");
	check_refused("deadline:5ms/10ms/20ms");
	check_refused("deadline:00000000000000000000000000000000000000000000000005ms/10ms");

	ok(!policy_apply(&other) && sched_getscheduler(0) == SCHED_OTHER,
	   "other is always granted");
	ok(policy_apply(&unaffordable) < 0 && sched_getscheduler(0) == SCHED_OTHER,
	   "what the kernel refuses leaves the thread as it was");
	return tap_end();
}
