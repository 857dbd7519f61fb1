/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load_scenario.h"

#include <string.h>

#include "argument.h"
#include "text.h"
#include "units.h"

#define MIB (UINT64_C(1) << 20)
#define MEMORY_MAX (256 * MIB)
#define DISK_MAX (256 * MIB)
#define DISK_MIN (16 * MIB)
/* The memory of stress-ng itself: its shared pages, and the stacks and buffers of each worker. */
#define GROUP_BASE (256 * MIB)
#define GROUP_PER_CPU (128 * MIB)
/* The same for workers that use a page each. */
#define STARVED_PER_CPU (2 * MIB)

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
	/* The same dose on any number of CPUs: timerfd and itimer go on as fast as they can. */
	{ "paced", .stressors = {
		{ .name = "timer", .fixed = "--timer-freq 1000" },
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

/* Rounds down to a power of two, so that small changes of free memory give the same load. */
static uint64_t round_down(uint64_t value)
{
	return value ? UINT64_C(1) << (63 - __builtin_clzll(value)) : 0;
}

/* A quarter of the machine's available memory, at most half of the room in the caller's cgroup. */
static uint64_t choose_memory(uint64_t available)
{
	const uint64_t memory = available ? least(available / 4, MEMORY_MAX) : MEMORY_MAX;

	return round_down(least(memory, memgroup_room() / 2));
}

static uint64_t choose_limit(const struct load_scenario *scenario, size_t cpus,
			     const struct load_limits *limits)
{
	if (scenario->starves)
		return limits->disk / 4 + STARVED_PER_CPU * cpus;
	return limits->memory + (scenario->exhausts ? 0 : GROUP_BASE + GROUP_PER_CPU * cpus);
}

static int make_group(const struct load_scenario *scenario, size_t cpus, struct load_limits *limits)
{
	const uint64_t limit = choose_limit(scenario, cpus, limits);
	char why[MEMGROUP_WHY_MAX];

	if (!memgroup_init(limit, &limits->group, why) ||
	    !(scenario->exhausts || scenario->starves))
		return 0;
	return refuse("--load %s: %.300s; run as root where memory cgroups are, or use --load %s",
		      scenario->name, why, scenario->starves ? "files" : "vm");
}

static int make_folder(const struct load_scenario *scenario, struct load_limits *limits)
{
	int err = scratch_init_on_disk(&limits->scratch);

	if (!err && scenario->starves && scratch_in_memory(&limits->scratch))
		return refuse("--load %s: its files would lie in memory, where nothing is read "
			      "again; name a folder on a disk in TMPDIR",
			      scenario->name);
	if (err)
		return refuse("--load %s: no private folder can be made on a disk (%s); name a "
			      "writable one in TMPDIR",
			      scenario->name, strerror(-err));
	limits->disk = round_down(least(scratch_room(&limits->scratch) / 4, DISK_MAX));
	if (limits->disk < DISK_MIN)
		return refuse("--load %s: too little room in %.200s; name a folder with 64 MiB "
			      "free in TMPDIR",
			      scenario->name, limits->scratch.path);
	return 0;
}

int load_limits_init(const struct load_scenario *scenario, size_t cpus, uint64_t available,
		     struct load_limits *ret)
{
	int err;

	*ret = (struct load_limits){ .memory = choose_memory(available) };
	err = load_scenario_on_disk(scenario) ? make_folder(scenario, ret) : 0;
	return err ? err : make_group(scenario, cpus, ret);
}

void load_limits_deinit(struct load_limits *limits)
{
	memgroup_deinit(&limits->group);
	scratch_deinit(&limits->scratch);
}
