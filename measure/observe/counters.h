/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Per-CPU counts of /proc/interrupts and /proc/softirqs, and their growth. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cpulist.h"

/* One row; counts in the order of the wanted CPUs. */
struct counter_row {
	char *label;
	uint64_t *counts;
};

struct counters {
	struct counter_row *rows;
	size_t count;
};

/* The rows of both files. */
struct counter_snapshot {
	struct counters interrupts, softirqs;
	uint64_t raw_ns;
};

/*
 * Parses the text of either file (Documentation/filesystems/proc.rst).
 *
 * A named row is labelled by its name ("LOC"), a numbered one by number and device
 * ("36:virtio1-req.0"). Rows that are not per CPU (ERR, MIS) are left out. The kernel prints a
 * column for each online CPU in interrupts and for each possible CPU in softirqs; the header names
 * them.
 *
 * Returns 0, -EINVAL (no header) or -ENXIO (a CPU has no column).
 */
int counters_parse(const char *text, const struct cpulist *cpus, struct counters *ret);
void counters_deinit(struct counters *counters);

/*
 * Growth of one row on one CPU, by label. A row that did not exist before counts from 0, and so
 * does a row whose count shrank: it was created again. The kernel's counters are 32 bits wide and
 * may wrap once.
 */
uint64_t counters_growth(const struct counters *before, const struct counters *after, size_t row,
			 size_t column);

/* Read and parse one of the files, or both; call the deinit in any case. */
int counters_read(const char *path, const struct cpulist *cpus, struct counters *ret);
int counter_snapshot_take(const struct cpulist *cpus, struct counter_snapshot *ret);
void counter_snapshot_deinit(struct counter_snapshot *snapshot);
