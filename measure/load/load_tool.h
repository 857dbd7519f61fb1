/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stress-ng as it is installed: which version, and which options it knows. */
#pragma once

#include <stdbool.h>

#include "scratch.h"

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
