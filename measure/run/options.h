/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line, checked for form and range; setup.h checks what the machine allows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "capture.h"
#include "cpulist.h"
#include "load_scenario.h"
#include "second_opinion.h"
#include "policy.h"
#include "text.h"
#include "work.h"

enum oslat_choice {
	OSLAT_IF_INSTALLED,
	OSLAT_WANTED,
	OSLAT_OFF,
};

/* How often stress-ng's matrix runs, 0: never; and how long each time. */
struct matrix_runs {
	uint64_t count, length_ns;
};

struct load_cpus {
	struct cpulist list;
	/* All allowed CPUs, the measured ones too. */
	bool all;
};

/* Lists are empty if not given. */
struct options {
	struct cpulist cpus;
	struct load_cpus load_cpus;
	/* The control group that owns the measured CPUs; NULL: none does. */
	const char *group;
	/* A gap of this length ends the run, or is told to the reader of the phases; 0: off. */
	uint64_t duration_ns, warmup_ns, threshold_ns, stop_on_ns, on_gap_ns;
	struct policy policy;
	/* NULL: no load. */
	const struct load_scenario *load;
	enum oslat_choice oslat;
	/* Second opinions and work kinds requested by name. */
	bool opinions[OPINION_TOOLS];
	bool work[WORK_KINDS];
	/* On one CPU after another, not on all at once. */
	bool work_alone;
	/* On all CPUs at once, each with a different kind. */
	bool work_mixed;
	/* The interval between wake-ups of a thread; 0: no wake-ups. */
	uint64_t wakeup_ns;
	struct matrix_runs throughput;
	/* Given by the user; host.h detects it on x86 only. */
	bool emulated;
	const char *label;
	uint64_t seed;
	/* File name, "-" for standard output, NULL for none. */
	const char *json, *events;
	/* The folder for the observer's records; NULL: do not record. */
	const char *capture;
	enum observer observer;
	/* One line per second on standard output. */
	bool follow;
	/* The descriptor for the phases of the run; -1: none. */
	int phases;
	bool check, tools, help, version;
};

/* Returns 0, or refuses (-EINVAL). The texts belong to argv. */
int options_parse(int argc, char *const argv[], struct options *ret);
void options_deinit(struct options *options);
void options_help(FILE *file);
