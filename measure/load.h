/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads beside the measurement, by stress-ng: seeded, bounded in memory and time. */
#ifndef LOWLAT_LOAD_H
#define LOWLAT_LOAD_H

#include <stdint.h>

#include "child.h"
#include "cpulist.h"
#include "scratch.h"
#include "text.h"

struct load_scenario;

/* NULL where there is none of that name. */
const struct load_scenario *load_scenario_find(const char *name);
const char *load_scenario_name(const struct load_scenario *scenario);

/* All names, for a message; the text is made anew by each call. */
const char *load_scenario_names(void);

struct load_options {
	const struct load_scenario *scenario;
	const struct cpulist *cpus;
	const struct scratch *scratch;
	uint64_t seed;
	/* All that the load may allocate, in bytes. */
	uint64_t memory;
	/* It ends by itself after this. */
	uint64_t limit_ns;
};

struct load {
	const struct load_scenario *scenario;
	struct strings command;
	/* "0.15.06" */
	char *version;
	/* What it wrote: YAML, and what it printed; NULL: nothing. Set by load_read(). */
	char *metrics;
	char *log;
	struct child child;
	char metrics_path[PATH_MAX + 16];
	char log_path[PATH_MAX + 16];
};

/* Starts it. Returns 0, -ENOENT (stress-ng isn't installed) or another -errno. */
int load_start(const struct load_options *options, struct load *ret);

/* Reads what it wrote, once its child has ended. */
void load_read(struct load *load);

/* The first failure it reported, to be freed by the caller; NULL: none. */
char *load_complaint(const struct load *load);

void load_deinit(struct load *load);

#endif
