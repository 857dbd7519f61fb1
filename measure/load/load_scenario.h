/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loads: the workers of each, with their options. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

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

/* Whether it writes files, which must then lie on a disk. */
bool load_scenario_on_disk(const struct load_scenario *scenario);
