/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"
#include "tap.h"

#include <stdlib.h>

#include "cleanup.h"
#include "units.h"

static void check_split(const char *cpus, const char *isolated, const char *want)
{
	struct cpulist all, kept, *parts;
	char text[256] = "";
	size_t count;

	if (cpulist_parse(cpus, &all) || cpulist_parse(isolated, &kept))
		exit(1);
	count = load_split(&all, &kept, &parts);
	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *part = cpulist_format(&parts[i]);

		strcat(text, i ? " + " : "");
		strcat(text, part ? part : "?");
		cpulist_deinit(&parts[i]);
	}
	is_text(text, want, "the parts of a load");
	free(parts);
	cpulist_deinit(&all);
	cpulist_deinit(&kept);
}

static void test_scenarios(void)
{
	ok(!load_scenario_find("heavy"), "an unknown scenario");
	ok(!load_scenario_find("throughput"), "throughput is none that runs beside the detector");
	ok(load_scenario_find("oom")->exhausts, "oom exhausts memory");
	ok(!load_scenario_find("vm")->exhausts, "vm does not");
	ok(load_scenario_on_disk(load_scenario_find("files")), "files are on a disk");
	ok(!load_scenario_on_disk(load_scenario_find("mixed")), "mixed writes none");
}

static void test_rate(void)
{
	char two[] =
		"metrics:\n    - stressor: matrix\n      bogo-ops-per-second-real-time: 1.5e+03\n"
		"      instances:\n          - instance: 0\n"
		"            bogo-ops-per-second-real-time: 7\n";
	char none[] = "system-info:\n  bogo-ops-per-second-real-time: 7\n";
	struct load load = { .child.file = two };

	ok(load_rate(&load) == 1500, "the stressor's rate, also in scientific notation");
	load.child.file = none;
	ok(load_rate(&load) == 0, "none outside a stressor");
	load.child.file = NULL;
	ok(load_rate(&load) == 0, "none of no file");
}

static void test_no_start(void)
{
	const struct cpulist here = { 0 };
	struct load_tool tool = { .help = "--timer" };
	struct scratch scratch;
	const struct load_options options = {
		.scenario = load_scenario_find("timers"),
		.tool = &tool,
		.cpus = &here,
		.scratch = &scratch,
		.limit_ns = NS_PER_S,
	};
	struct load load;

	scratch_init(&scratch);
	setenv("PATH", "/nowhere", 1);
	/* The sanitizer also looks for what else is kept. */
	ok(load_start(&options, &load) < 0, "no part starts without its program");
	ok(!load.command.items && !load.missing.items, "and its command is freed");
	scratch_deinit(&scratch);
}

int main(void)
{
	check_split("0-3", "", "0-3");
	check_split("0-3", "2-3", "0-1 + 2 + 3");
	check_split("2-3", "0-7", "2 + 3");
	check_split("5", "6", "5");
	test_scenarios();
	test_rate();
	test_no_start();
	return tap_end();
}
