/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other measuring programs as second opinions on the same CPUs; their output is kept as it is. */
#pragma once

#include <stdint.h>

#include "child.h"
#include "cpulist.h"
#include "policy.h"
#include "scratch.h"
#include "text.h"

enum opinion_tool {
	OPINION_OSLAT,
	OPINION_CYCLICTEST,
	OPINION_OSNOISE,
	OPINION_TIMERLAT,
	OPINION_TOOLS,
};

/* As the user writes it, NULL where there is none; and what to install for it. */
const char *opinion_name(size_t tool);
const char *opinion_package(size_t tool);

struct opinion_options {
	const struct cpulist *cpus;
	/* For the program's main thread, beside the measured ones where there is one. */
	unsigned int main_cpu;
	/* They know fifo, and cyclictest rr; under deadline they run under SCHED_OTHER. */
	const struct policy *policy;
	const struct scratch *scratch;
	uint64_t duration_ns;
	/* Of cyclictest; 0: its own. */
	uint64_t interval_ns;
};

struct opinion {
	size_t tool;
	struct strings command;
	/* "2.40"; "unknown" where its help does not tell. */
	char *version;
	/* Its file is that of --json, where it has that. */
	struct child child;
};

/* Starts it. Returns 0, -ENOENT (not installed) or another -errno. */
int opinion_start(size_t tool, const struct opinion_options *options, struct opinion *ret);
void opinion_deinit(struct opinion *opinion);

/* Why it failed, in its own words, to be freed by the caller; NULL: it did not say. */
char *opinion_complaint(const struct opinion *opinion);
