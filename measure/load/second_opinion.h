/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other measuring programs as second opinions on the same CPUs; their output is kept unchanged. */
#pragma once

#include <stdint.h>

#include "child.h"
#include "cpulist.h"
#include "policy.h"
#include "scratch.h"
#include "text.h"
#include "units.h"

/* The longest time of each, and of the wake-ups, which cyclictest repeats. */
#define OPINION_LONGEST_NS (30 * NS_PER_S)

enum {
	OPINION_OSLAT,
	OPINION_CYCLICTEST,
	/* Room for others, which need no number of their own. */
	OPINION_TOOLS = 8,
};

/* All that the harness knows of a tool. */
struct opinion_tool {
	/* The user's name for it; NULL behind the last one. */
	const char *name;
	const char *program;
	/* That of Debian. */
	const char *package;
	/* The text before the version in its help. */
	const char *version_mark;
	/*
	 * Its arguments besides --json: {cpus}, their {count}, the CPU of its {main} thread, {seconds},
	 * and {interval} in us. {policy} is one of the other three, with its {priority}.
	 */
	const char *arguments;
	/* For round robin, if it differs from fifo; and for no real-time policy, if it needs one. */
	const char *realtime, *rr, *other;
	/* What it may lack if it fails. */
	const char *needs;
};

const struct opinion_tool *opinion_tool(size_t tool);

/* NULL if there is no such tool. */
const char *opinion_name(size_t tool);

struct opinion_options {
	const struct cpulist *cpus;
	/* For the program's main thread: a CPU that is not measured, if there is one. */
	unsigned int main_cpu;
	/* They support fifo, and cyclictest rr; under deadline they run with SCHED_OTHER. */
	const struct policy *policy;
	const struct scratch *scratch;
	uint64_t duration_ns;
	/* For cyclictest; 0: the default. */
	uint64_t interval_ns;
};

struct opinion {
	size_t tool;
	struct strings command;
	/* "2.40"; "unknown" if its help lacks it. */
	char *version;
	/* The child's file is that of --json, if it has the option. */
	struct child child;
};

/* Starts a tool. Returns 0, -ENOENT (not installed) or another -errno. */
int opinion_start(size_t tool, const struct opinion_options *options, struct opinion *ret);
void opinion_deinit(struct opinion *opinion);

/* The tool's own reason of its failure, freed by the caller; NULL if it gave none. */
char *opinion_complaint(const struct opinion *opinion);
