/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line, checked for form and range; what the machine allows is setup.h's business. */
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

struct load_cpus {
	struct cpulist list;
	/* All that are allowed, the measured ones too. */
	bool all;
};

/* A list is empty where none was given. */
struct options {
	struct cpulist cpus;
	struct load_cpus load_cpus;
	/* stop_on: a gap so long ends the run; 0: none does. */
	uint64_t duration_ns, warmup_ns, threshold_ns, stop_on_ns;
	struct policy policy;
	/* NULL: no load. */
	const struct load_scenario *load;
	enum oslat_choice oslat;
	/* Second opinions asked for by name, and work kinds. */
	bool opinions[OPINION_TOOLS];
	bool work[WORK_KINDS];
	/* One CPU after another, not all at once. */
	bool work_alone;
	/* All at once, each with another kind. */
	bool work_mixed;
	/* Between the moments that a thread sleeps to; 0: none does. */
	uint64_t wakeup_ns;
	/* Runs of stress-ng's matrix; 0: none. */
	uint64_t throughput;
	/* The user says so; host.h knows it of x86 alone. */
	bool emulated;
	const char *label;
	uint64_t seed;
	/* File name, "-" for standard output, NULL for none. */
	const char *json, *events;
	/* Folder for what interrupted the run; NULL: not recorded. */
	const char *capture;
	enum observer observer;
	/* A line a second on standard output. */
	bool follow;
	bool help, version;
};

/* Returns 0, or -EINVAL with the message set. The texts belong to argv. */
int options_parse(int argc, char *const argv[], struct options *ret, struct message *message);
void options_deinit(struct options *options);
void options_help(FILE *file);
