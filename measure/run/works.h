/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The work kinds and the throughput of a run; what goes wrong with them is noted in the run. */
#pragma once

#include <stdio.h>

#include "session.h"

/* Runs the kinds that were asked for, one after another, unless the run was interrupted. */
void works_make(struct run *run);

/* What all of them together take. */
uint64_t works_longest_ns(const struct run *run);

/* Measures the throughput that was asked for; the load must have ended. */
void works_throughput(struct run *run);

/* Their lines of the text summary; nothing under emulation. */
void works_write(const struct run *run, FILE *file);

void works_deinit(struct run *run);
