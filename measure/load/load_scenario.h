/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What loads there are: the workers of each, and what they are told. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What a worker takes a part of; it is told how much. */
enum load_share {
	SHARE_NONE,
	SHARE_MEMORY,
	SHARE_DISK,
};

/* One kind of worker, its share of what the scenario may use, and what else it is told. */
struct stressor {
	const char *name;
	enum load_share share;
	const char *bytes_option;
	const char *fixed;
	/* Its workers listen on a port each. */
	const char *port_option;
};

struct load_scenario {
	const char *name;
	/* Asks for more memory than it may have, so that the kernel kills in its group. */
	bool exhausts;
	/* Its files are larger than its group, so that their pages have to be read again. */
	bool starves;
	/* The last one has no name. */
	struct stressor stressors[10];
};

/* NULL where there is none of that name, and behind the last one. */
const struct load_scenario *load_scenario_find(const char *name);
const char *load_scenario_name(size_t row);

/* The one that compares how much a CPU gets done; not in the names. */
extern const struct load_scenario load_throughput;

/* Whether it writes files, which then have to lie on a disk. */
bool load_scenario_on_disk(const struct load_scenario *scenario);
