/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A CPU's frequency, firmware interrupts and idle states. Read before and after a run, never during
 * it: reading a model-specific register interrupts its CPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpulist.h"

#define POWER_STATES_MAX 16

struct power_state {
	char name[16];
	/* Time in this state since boot, in microseconds. */
	int64_t us;
};

/* One CPU; values that can't be read are left out. */
struct power {
	bool has_smi, has_clocks;
	/* System management interrupts since boot (Intel's MSR 0x34). */
	uint32_t smi;
	/* Cycles at the actual and at the nominal frequency while not asleep (MSR 0xe8, 0xe7). */
	uint64_t aperf, mperf;
	/* From cpufreq; "" and 0 if there is none. */
	char governor[16];
	int64_t khz;
	size_t state_count;
	struct power_state states[POWER_STATES_MAX];
};

/*
 * Reads each CPU of the list; MSRs need root and the module msr. root: "" for this machine, else a
 * folder laid out like its root. The caller frees the result.
 */
struct power *power_read(const char *root, const struct cpulist *cpus);

/*
 * Whether the frequency of a CPU can be read without interrupting it, by the kernel's release: before
 * 5.18 x86 asked the CPU itself. Since then, and elsewhere, cpufreq tells what the kernel holds
 * (arch_freq_get_on_cpu() in arch/x86/kernel/cpu/aperfmperf.c, show_scaling_cur_freq() in
 * drivers/cpufreq/cpufreq.c).
 */
bool power_frequency_is_held(const char *kernel);

/* In kHz; 0 if there is no cpufreq. */
int64_t power_frequency(const char *root, unsigned int cpu);
