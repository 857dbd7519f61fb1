/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loads: the workers of each with their options, and the limits of a load. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memgroup.h"
#include "scratch.h"
#include "units.h"

/* The resource that workers share; an option gives each its share. */
enum load_share {
	SHARE_NONE,
	SHARE_MEMORY,
	SHARE_DISK,
};

/* One kind of worker, its share of the scenario's resource, and its other options. */
struct stressor {
	const char *name;
	enum load_share share;
	const char *bytes_option;
	const char *fixed;
	/* The option for ports: each worker listens on one. */
	const char *port_option;
};

struct load_scenario {
	const char *name;
	/* Asks for more memory than its limit, so that the kernel kills within its group. */
	bool exhausts;
	/* Its files are larger than its group, so that their pages have to be read again. */
	bool starves;
	/* The last one has no name. */
	struct stressor stressors[10];
};

/* NULL if there is no such name, or no such row. */
const struct load_scenario *load_scenario_find(const char *name);
const char *load_scenario_name(size_t row);

/* The scenario that compares the throughput of CPUs; it is not among the names. */
extern const struct load_scenario load_throughput;

/* The duration of each of its runs, unless the user gives another. */
#define LOAD_THROUGHPUT_NS (2 * NS_PER_S)

/* Whether it writes files, which must then lie on a disk. */
bool load_scenario_on_disk(const struct load_scenario *scenario);

/* The limits of a load; zero-initialised is none. */
struct load_limits {
	/* path is "" if no group could be made. */
	struct memgroup group;
	/* The folder for the load's files; path is "" if it writes none. */
	struct scratch scratch;
	/* Limits of the load in bytes: memory to allocate, and files to write. */
	uint64_t memory, disk;
	/* Processes killed in the group; set when the load ends. */
	uint64_t oom_kills;
	/* Major page faults in the group during the measured part of the run. */
	uint64_t major_faults;
};

/*
 * Makes the limits for a scenario on so many CPUs. available: bytes of free memory; 0: unknown.
 *
 * Returns 0, or refuses (-EINVAL) if the scenario needs what can't be made: a memory group to
 * exhaust, or room on a disk. Call the deinit in any case.
 */
int load_limits_init(const struct load_scenario *scenario, size_t cpus, uint64_t available,
		     struct load_limits *ret);

/* Removes the group and the folder; the numbers stay. */
void load_limits_deinit(struct load_limits *limits);
