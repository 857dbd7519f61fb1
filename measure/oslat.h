/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oslat of rt-tests as a second opinion on the same CPUs; its output is kept as it is. */
#ifndef LOWLAT_OSLAT_H
#define LOWLAT_OSLAT_H

#include <stdbool.h>
#include <stdint.h>

#include "child.h"
#include "cpulist.h"
#include "scratch.h"
#include "text.h"

struct oslat_options {
	const struct cpulist *cpus;
	/* For its main thread, beside the measured ones where there is one. */
	unsigned int main_cpu;
	/* 0: SCHED_OTHER. */
	int fifo_priority;
	const struct scratch *scratch;
	uint64_t duration_ns;
};

struct oslat {
	struct strings command;
	/* "2.40" */
	char *version;
	/* What it printed, and the file of --json where it has that; NULL: nothing. */
	char *output;
	char *json;
	struct child child;
	char json_path[PATH_MAX + 16];
	char output_path[PATH_MAX + 16];
};

/* Starts it. Returns 0, -ENOENT (not installed) or another -errno. */
int oslat_start(const struct oslat_options *options, struct oslat *ret);

/* Reads what it wrote, once its child has ended. */
void oslat_read(struct oslat *oslat);

/* Why it failed, in its own words, to be freed by the caller; NULL: it did not say. */
char *oslat_complaint(const struct oslat *oslat);

void oslat_deinit(struct oslat *oslat);

#endif
