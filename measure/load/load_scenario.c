/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load_scenario.h"

#include <string.h>

#include "argument.h"

/* clang-format off */
static const struct load_scenario scenarios[] = {
	{ "faults", .stressors = {
		{ .name = "fault" },
		{ .name = "mmap", .share = SHARE_MEMORY, .bytes_option = "--mmap-bytes" },
	} },
	{ "vm", .stressors = {
		{ .name = "vm", .share = SHARE_MEMORY, .bytes_option = "--vm-bytes" },
		{ .name = "mmap", .share = SHARE_MEMORY, .bytes_option = "--mmap-bytes" },
	} },
	{ "memory", .stressors = {
		{ .name = "fault" },
		{ .name = "vm", .share = SHARE_MEMORY, .bytes_option = "--vm-bytes" },
		{ .name = "mmap", .share = SHARE_MEMORY, .bytes_option = "--mmap-bytes" },
	} },
	{ "oom", .exhausts = true, .stressors = {
		{ .name = "vm", .share = SHARE_MEMORY, .bytes_option = "--vm-bytes" },
		{ .name = "mmap", .share = SHARE_MEMORY, .bytes_option = "--mmap-bytes" },
	} },
	{ "major-faults", .starves = true, .stressors = {
		{ .name = "msync", .share = SHARE_DISK, .bytes_option = "--msync-bytes" },
	} },
	{ "cpu", .stressors = {
		{ .name = "cpu" },
	} },
	{ "timers", .stressors = {
		{ .name = "timer", .fixed = "--timer-freq 1000" },
		{ .name = "timerfd", .fixed = "--timerfd-freq 1000" },
		{ .name = "itimer", .fixed = "--itimer-freq 1000" },
	} },
	{ "ipi", .stressors = {
		{ .name = "tlb-shootdown" },
		{ .name = "membarrier" },
		{ .name = "mprotect" },
	} },
	/* Not sync-file: 0.19 writes a gibibyte, regardless of --sync-file-bytes. */
	{ "files", .stressors = {
		{ .name = "hdd", .share = SHARE_DISK, .bytes_option = "--hdd-bytes", .fixed = "--hdd-opts fsync" },
		{ .name = "dentry", .fixed = "--dentries 2048" },
	} },
	/* These stressors use the loopback interface by default. */
	{ "network", .stressors = {
		{ .name = "sock", .fixed = "--sock-domain ipv4", .port_option = "--sock-port" },
		{ .name = "udp", .fixed = "--udp-domain ipv4", .port_option = "--udp-port" },
	} },
	{ "mixed", .stressors = {
		{ .name = "fault" },
		{ .name = "vm", .share = SHARE_MEMORY, .bytes_option = "--vm-bytes" },
		{ .name = "mmap", .share = SHARE_MEMORY, .bytes_option = "--mmap-bytes" },
		{ .name = "timer", .fixed = "--timer-freq 1000" },
		{ .name = "switch" },
		{ .name = "fork" },
		{ .name = "tlb-shootdown" },
		{ .name = "sock", .fixed = "--sock-domain ipv4", .port_option = "--sock-port" },
	} },
};

/* One method of fixed size: methods count different bogo operations. */
const struct load_scenario load_throughput = { "throughput", .stressors = {
	{ .name = "matrix", .fixed = "--matrix-method prod --matrix-size 128" },
} };
/* clang-format on */

#define SCENARIO_COUNT (sizeof(scenarios) / sizeof(*scenarios))

const char *load_scenario_name(size_t row)
{
	return row < SCENARIO_COUNT ? scenarios[row].name : NULL;
}

const struct load_scenario *load_scenario_find(const char *name)
{
	const size_t row = names_find(load_scenario_name, name, strlen(name));

	return row < SCENARIO_COUNT ? &scenarios[row] : NULL;
}

bool load_scenario_on_disk(const struct load_scenario *scenario)
{
	for (const struct stressor *s = scenario->stressors; s->name; s++) {
		if (s->share == SHARE_DISK)
			return true;
	}
	return false;
}
