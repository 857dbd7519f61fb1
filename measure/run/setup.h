/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who runs where: the options as this machine allows them. */
#pragma once

#include "cpulist.h"
#include "host.h"
#include "options.h"
#include "text.h"

struct setup {
	struct cpulist measured;
	/* For the loads; empty where none is wanted. */
	struct cpulist load;
	/* Allowed and not measured: for the harness itself. May be empty. */
	struct cpulist rest;
};

/*
 * Chooses the CPUs and checks that the run is possible: CPUs online and allowed, real-time
 * permission, a CPU for the load, writable files. Leaves the calling thread on `rest`.
 *
 * Returns 0, or -EINVAL with the message set.
 */
int setup_resolve(const struct options *options, const struct host *host, struct setup *ret,
		  struct message *message);
void setup_deinit(struct setup *setup);

/*
 * Whether real-time spinners on the measured CPUs leave one of the allowed CPUs to the system and
 * to the harness: one that is not isolated, unless all allowed ones are.
 */
bool setup_leaves_one(const struct cpulist *measured, const struct cpulist *allowed,
		      const struct cpulist *isolated);
