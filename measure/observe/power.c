/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "power.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"

#define CPU_DIR "%s/sys/devices/system/cpu/cpu%u/"
#define PATH_SIZE 256

#define MSR_SMI_COUNT 0x34
#define MSR_MPERF 0xe7
#define MSR_APERF 0xe8

static void read_registers(const char *root, unsigned int cpu, struct power *ret)
{
	_cleanup_close_ int file = -1;
	char path[PATH_SIZE];
	uint64_t smi;

	snprintf(path, sizeof(path), "%s/dev/cpu/%u/msr", root, cpu);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	/* The offset is the register's number; one that the CPU does not have fails. */
	ret->has_smi = pread(file, &smi, sizeof(smi), MSR_SMI_COUNT) == sizeof(smi);
	ret->smi = ret->has_smi ? (uint32_t)smi : 0;
	ret->has_clocks =
		pread(file, &ret->aperf, sizeof(ret->aperf), MSR_APERF) == sizeof(ret->aperf) &&
		pread(file, &ret->mperf, sizeof(ret->mperf), MSR_MPERF) == sizeof(ret->mperf);
}

static void copy(char *ret, size_t size, const char *text)
{
	snprintf(ret, size, "%s", text ? text : "");
}

static void read_frequency(const char *root, unsigned int cpu, struct power *ret)
{
	_cleanup_free_ char *khz = NULL, *governor = NULL;
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), CPU_DIR "cpufreq/scaling_cur_freq", root, cpu);
	khz = text_read_trimmed(path);
	snprintf(path, sizeof(path), CPU_DIR "cpufreq/scaling_governor", root, cpu);
	governor = text_read_trimmed(path);
	ret->khz = khz ? strtoull(khz, NULL, 10) : 0;
	copy(ret->governor, sizeof(ret->governor), governor);
}

static void read_states(const char *root, unsigned int cpu, struct power *ret)
{
	for (; ret->state_count < POWER_STATES_MAX; ret->state_count++) {
		struct power_state *state = &ret->states[ret->state_count];
		_cleanup_free_ char *name = NULL, *us = NULL;
		char path[PATH_SIZE];

		snprintf(path, sizeof(path), CPU_DIR "cpuidle/state%zu/name", root, cpu,
			 ret->state_count);
		name = text_read_trimmed(path);
		snprintf(path, sizeof(path), CPU_DIR "cpuidle/state%zu/time", root, cpu,
			 ret->state_count);
		us = text_read_trimmed(path);
		if (!name || !us)
			return;
		copy(state->name, sizeof(state->name), name);
		state->us = strtoull(us, NULL, 10);
	}
}

int power_snapshot_take(const char *root, const struct cpulist *cpus, struct power_snapshot *ret)
{
	*ret = (struct power_snapshot){
		.cpus = calloc(cpus->count + 1, sizeof(*ret->cpus)),
		.count = cpus->count,
	};
	if (!ret->cpus) {
		ret->count = 0;
		return -ENOMEM;
	}
	for (size_t i = 0; i < cpus->count; i++) {
		read_registers(root, cpus->cpus[i], &ret->cpus[i]);
		read_frequency(root, cpus->cpus[i], &ret->cpus[i]);
		read_states(root, cpus->cpus[i], &ret->cpus[i]);
	}
	return 0;
}

void power_snapshot_deinit(struct power_snapshot *snapshot)
{
	free(snapshot->cpus);
	*snapshot = (struct power_snapshot){ 0 };
}
