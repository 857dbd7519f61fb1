/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "power.h"
#include "isolation.h"
#include "tap.h"

#include <stdlib.h>

#include "tree.h"

#define CPU "sys/devices/system/cpu/cpu5/"

static unsigned int ids[] = { 5, 6 };
static const struct cpulist cpus = { .cpus = ids, .count = 2 };

/* The driver's file has eight bytes at each register's number; in a plain file these overlap. */
static void put_registers(const char *root)
{
	unsigned char bytes[0xe7 + 9] = { 0 };

	bytes[0x34] = 42;
	bytes[0xe7] = 1;
	bytes[0xe8] = 2;
	bytes[0xef] = 3;
	tree_put(root, "dev/cpu/5/msr", bytes, sizeof(bytes));
}

static void test_nothing(const char *root)
{
	struct power *got;

	got = power_read(root, &cpus);
	ok(!got[0].has_smi && !got[0].has_clocks && !got[0].state_count && !*got[0].governor,
	   "has nothing to tell");
	free(got);
	ok(isolation_offered(root) == ISOLATION_NONE, "and no task isolation");
}

static void test_all(const char *root)
{
	struct power *got;
	const struct power *first;

	put_registers(root);
	tree_put(root, CPU "cpufreq/scaling_governor", "performance\n", 12);
	tree_put(root, CPU "cpufreq/scaling_cur_freq", "2600000\n", 8);
	tree_put(root, CPU "cpuidle/state0/name", "POLL\n", 5);
	tree_put(root, CPU "cpuidle/state0/time", "17\n", 3);
	tree_put(root, CPU "cpuidle/state1/name", "C1\n", 3);
	tree_put(root, CPU "cpuidle/state1/time", "123456789\n", 10);
	tree_put(root, "sys/devices/system/cpu/task_isolation", "5\n", 2);
	got = power_read(root, &cpus);
	first = &got[0];
	ok(first->has_smi && first->smi == 42, "system management interrupts");
	ok(first->has_clocks && first->mperf == UINT64_C(0x0201) &&
		   first->aperf == (UINT64_C(3) << 56 | 2),
	   "APERF and MPERF");
	is_text(first->governor, "performance", "governor");
	ok(first->khz == 2600000 && !got[1].khz, "frequency");
	ok(power_frequency(root, 5) == 2600000 && !power_frequency(root, 6), "by itself");
	ok(first->state_count == 2 && first->states[1].us == 123456789, "two idle states");
	is_text(first->states[1].name, "C1", "by their names");
	ok(!got[1].has_smi && !got[1].state_count, "of the other CPU, nothing");
	free(got);
	ok(isolation_offered(root) == ISOLATION_TASK, "task isolation is offered");
}

static void test_held(void)
{
	ok(power_frequency_is_held("6.12.118+deb13-amd64"), "this kernel holds the frequency");
	ok(power_frequency_is_held("5.18.0"), "from 5.18 on");
	ok(!power_frequency_is_held(""), "an unknown one may ask the CPU");
#ifdef __x86_64__
	ok(!power_frequency_is_held("5.17.15"), "on x86 older ones interrupt it");
#endif
}

int main(void)
{
	char root[TREE_PATH];

	tree_make(root);
	test_nothing(root);
	test_all(root);
	test_held();
	tree_remove(root);
	return tap_end();
}
