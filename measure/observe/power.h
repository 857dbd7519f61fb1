/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the hardware says of a CPU's frequency, firmware and sleep. Read before and after a run,
 * never during it: a model-specific register is read by an interrupt on its CPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpulist.h"

#define POWER_STATES_MAX 16

struct power_state {
	char name[16];
	/* Time spent in it since boot, microseconds. */
	int64_t us;
};

/* Of one CPU; what can't be read is missing. */
struct power {
	bool has_smi, has_clocks;
	/* System management interrupts since boot (Intel's MSR 0x34). */
	uint32_t smi;
	/* Cycles at the actual and at the nominal frequency while not asleep (MSR 0xe8, 0xe7). */
	uint64_t aperf, mperf;
	/* Of cpufreq; "" and 0 where there is none. */
	char governor[16];
	int64_t khz;
	size_t state_count;
	struct power_state states[POWER_STATES_MAX];
};

/*
 * Reads what there is of each CPU of the list; MSRs need root and the module msr. root: "" for this
 * machine, else a folder laid out like its root. To be freed by the caller.
 */
struct power *power_read(const char *root, const struct cpulist *cpus);
