/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads beside the measurement, by stress-ng: seeded, with limits of memory, files and time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "cpulist.h"
#include "load_scenario.h"
#include "memgroup.h"
#include "scratch.h"
#include "text.h"

/* The installed stress-ng. */
struct load_tool {
	/* "0.15.06" */
	char *version;
	/* Its help text: the names of options differ between versions. */
	char *help;
};

/* Returns 0, -ENOENT (stress-ng isn't installed) or another -errno. */
int load_tool_init(const struct scratch *scratch, struct load_tool *ret);
void load_tool_deinit(struct load_tool *tool);

/* Whether it has the option --NAME: stress-ng ends at once on an unknown option. */
bool load_tool_knows(const struct load_tool *tool, const char *name);

/*
 * The parts of a load, each with its own stress-ng: one for all CPUs between which the scheduler
 * balances, and one for each isolated CPU, which a task reaches only by pinning.
 *
 * ret: freed by the caller, and each of the lists too. Returns the number of parts.
 */
size_t load_split(const struct cpulist *cpus, const struct cpulist *isolated, struct cpulist **ret);

struct load_options {
	const struct load_scenario *scenario;
	const struct load_tool *tool;
	/* The number of the part, from 0. */
	size_t part;
	const struct cpulist *cpus;
	/* Whether there are CPUs that it must not use. */
	bool confined;
	const struct scratch *scratch;
	const struct memgroup *group;
	uint64_t seed;
	/* Limits of this part in bytes: memory to allocate, and files to write. */
	uint64_t memory, disk;
	/* It ends on its own after this time. */
	uint64_t limit_ns;
};

struct load {
	const struct load_scenario *scenario;
	struct strings command;
	/* Stressors that this stress-ng lacks. */
	struct strings missing;
	/* The child's file: metrics as YAML. */
	struct child child;
};

/* Starts one part. Returns 0, or -errno with nothing to free. */
int load_start(const struct load_options *options, struct load *ret);
void load_deinit(struct load *load);

/* Bogo operations per second of real time of its first stressor; 0 if unknown. */
double load_rate(const struct load *load);

/* The first failure that it reported, freed by the caller; NULL if none. */
char *load_complaint(const struct load *load);

/*
 * The lowest range of `count` IPv4 ports, from `first` on, that are free for TCP and UDP now and
 * below the kernel's ephemeral ports (32768). Returns its first port, or `first` if there is none.
 */
uint16_t ports_find(uint16_t first, uint16_t count);
