/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads beside the measurement, by stress-ng: seeded, bounded in memory, files and time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "cpulist.h"
#include "load_scenario.h"
#include "memgroup.h"
#include "scratch.h"
#include "text.h"

/* stress-ng as it is installed. */
struct load_tool {
	/* "0.15.06" */
	char *version;
	/* What it says about its options: their names differ between versions. */
	char *help;
};

/* Returns 0, -ENOENT (stress-ng isn't installed) or another -errno. */
int load_tool_init(const struct scratch *scratch, struct load_tool *ret);
void load_tool_deinit(struct load_tool *tool);

/* Whether it knows --NAME. A version ends at once over an option it doesn't know. */
bool load_tool_knows(const struct load_tool *tool, const char *name);

/*
 * The parts of a load that need a stress-ng each: one for all CPUs that the scheduler spreads tasks
 * over, and one for each isolated CPU, where a task gets only by being pinned.
 *
 * ret: to be freed by the caller, each of the lists too. Returns how many they are.
 */
size_t load_split(const struct cpulist *cpus, const struct cpulist *isolated, struct cpulist **ret);

struct load_options {
	const struct load_scenario *scenario;
	const struct load_tool *tool;
	/* Tells the parts of a load apart; from 0. */
	size_t part;
	const struct cpulist *cpus;
	/* Whether there are others, which it has to leave alone. */
	bool confined;
	const struct scratch *scratch;
	const struct memgroup *group;
	uint64_t seed;
	/* All that this part may allocate, in bytes, and all that it may write. */
	uint64_t memory, disk;
	/* It ends by itself after this. */
	uint64_t limit_ns;
};

struct load {
	const struct load_scenario *scenario;
	struct strings command;
	/* Stressors that this stress-ng doesn't have. */
	struct strings missing;
	/* Its file is YAML: the metrics. */
	struct child child;
};

/* Starts one part. */
int load_start(const struct load_options *options, struct load *ret);
void load_deinit(struct load *load);

/* Bogo operations per second of real time of its first stressor; 0: unknown. */
double load_rate(const struct load *load);

/* The first failure it reported, to be freed by the caller; NULL: none. */
char *load_complaint(const struct load *load);

/*
 * The lowest run of `count` ports of IPv4 from `first` on that are free for TCP and UDP now, below
 * those that the kernel gives out by itself (32768). Returns its first port; `first`: there is
 * none.
 */
uint16_t ports_find(uint16_t first, uint16_t count);
