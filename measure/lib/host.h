/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts about the machine that a run needs or records. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cpulist.h"
#include "text.h"

struct host {
	/* UTC, ISO 8601. */
	char started[32];
	/* The name is the kernel's, 64 bytes at most; "" if the host has none. */
	char *boot_id, *kernel, *cmdline, *name;
	struct cpulist online;
	/* The online CPUs that this process may use: a cpuset may forbid some. */
	struct cpulist allowed;
	/* From sysfs; empty if the kernel isolates none. */
	struct cpulist isolated;
	/* By QEMU's TCG, which does not model time; detected on x86, else given by --emulated. */
	bool emulated;
	/* Bytes. */
	uint64_t memory_available;
};

/* Binds the calling thread to all allowed CPUs. Returns 0, or refuses (-EINVAL). */
int host_init(struct host *ret);
void host_deinit(struct host *host);
