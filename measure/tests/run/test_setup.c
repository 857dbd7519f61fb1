/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "setup.h"
#include "tap.h"

static bool leaves_one(const char *measured, const char *allowed, const char *isolated)
{
	struct cpulist a, b, c;
	bool one;

	cpulist_parse(measured, &a);
	cpulist_parse(allowed, &b);
	cpulist_parse(isolated, &c);
	one = setup_leaves_one(&a, &b, &c);
	cpulist_deinit(&a);
	cpulist_deinit(&b);
	cpulist_deinit(&c);
	return one;
}

int main(void)
{
	struct cpulist all, one, left;

	ok(leaves_one("2-3", "0-3", "2-3"), "the isolated CPUs");
	ok(leaves_one("1-3", "0-3", ""), "all but one");
	ok(!leaves_one("0-3", "0-3", ""), "all of the machine");
	ok(!leaves_one("0-1", "0-3", "2-3"), "all that serve the system");
	ok(!leaves_one("2-3", "2-3", ""), "all that a cpuset allows");
	ok(leaves_one("2", "2-3", "2-3"), "a cpuset of isolated CPUs, one left");
	ok(!leaves_one("2-3", "2-3", "2-3"), "a cpuset of isolated CPUs, none left");

	ok(!cpulist_allowed(&all) && all.count, "CPUs are allowed");
	one = (struct cpulist){ .cpus = &all.cpus[all.count - 1], .count = 1 };
	ok(!cpulist_bind(&one) && !cpulist_allowed(&left), "bound to one");
	ok(left.count == 1 && left.cpus[0] == one.cpus[0], "then that one is allowed");
	cpulist_deinit(&left);
	cpulist_deinit(&all);
	return tap_end();
}
