/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "power.h"

#include <fcntl.h>
#include <stdio.h>

#include "cleanup.h"
#include "text.h"
#include "xalloc.h"

#define CPU_DIR "/sys/devices/system/cpu/"
#define MSR_SMI_COUNT 0x34
#define MSR_MPERF 0xe7
#define MSR_APERF 0xe8

static void read_registers(const char *root, unsigned int cpu, struct power *ret)
{
	_cleanup_close_ int file = -1;
	char path[256];
	uint64_t smi;

	snprintf(path, sizeof(path), "%s/dev/cpu/%u/msr", root, cpu);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	/* The offset is the register's number; reading a register that the CPU lacks fails. */
	ret->has_smi = pread(file, &smi, sizeof(smi), MSR_SMI_COUNT) == sizeof(smi);
	ret->smi = ret->has_smi ? (uint32_t)smi : 0;
	ret->has_clocks =
		pread(file, &ret->aperf, sizeof(ret->aperf), MSR_APERF) == sizeof(ret->aperf) &&
		pread(file, &ret->mperf, sizeof(ret->mperf), MSR_MPERF) == sizeof(ret->mperf);
}

static void read_word(char *ret, size_t size, char *path)
{
	_cleanup_free_ char *text = text_take_trimmed(path);

	snprintf(ret, size, "%s", text ? text : "");
}

static void read_states(const char *root, unsigned int cpu, struct power *ret)
{
	for (; ret->state_count < POWER_STATES_MAX; ret->state_count++) {
		struct power_state *state = &ret->states[ret->state_count];
		_cleanup_free_ char *folder = text_format("%s" CPU_DIR "cpu%u/cpuidle/state%zu",
							  root, cpu, ret->state_count);

		read_word(state->name, sizeof(state->name), text_format("%s/name", folder));
		if (!*state->name || !text_read_number(&state->us, "%s/time", folder))
			return;
	}
}

bool power_frequency_is_held(const char *kernel)
{
#if defined(__x86_64__) || defined(__i386__)
	unsigned int major, minor;

	return sscanf(kernel, "%u.%u", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 18));
#else
	return *kernel;
#endif
}

int64_t power_frequency(const char *root, unsigned int cpu)
{
	int64_t khz = 0;

	text_read_number(&khz, "%s" CPU_DIR "cpu%u/cpufreq/scaling_cur_freq", root, cpu);
	return khz;
}

struct power *power_read(const char *root, const struct cpulist *cpus)
{
	struct power *read = xcalloc(cpus->count, sizeof(*read));

	for (size_t i = 0; i < cpus->count; i++) {
		struct power *power = &read[i];

		read_registers(root, cpus->cpus[i], power);
		read_word(power->governor, sizeof(power->governor),
			  text_format("%s" CPU_DIR "cpu%u/cpufreq/scaling_governor", root,
				      cpus->cpus[i]));
		power->khz = power_frequency(root, cpus->cpus[i]);
		read_states(root, cpus->cpus[i], power);
	}
	return read;
}
