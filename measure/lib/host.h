/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the run needs to know of the machine, and where it was made. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cpulist.h"
#include "text.h"

struct host {
	/* UTC, ISO 8601. */
	char started[32];
	char *boot_id, *kernel, *cmdline;
	struct cpulist online;
	/* Of these, what this process may use: a cpuset may forbid some. */
	struct cpulist allowed;
	/* As the kernel says in sysfs; empty where it isolates none. */
	struct cpulist isolated;
	/* By QEMU's TCG, which has no notion of time; seen on x86, told elsewhere (--emulated). */
	bool emulated;
	/* Bytes. */
	uint64_t memory_available;
};

/* Leaves the calling thread on all CPUs allowed. Returns 0, or -EINVAL with the message set. */
int host_init(struct host *ret, struct message *message);
void host_deinit(struct host *host);
