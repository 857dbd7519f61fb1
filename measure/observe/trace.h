/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's own account of what ran on the measured CPUs: private tracefs instances.
 *
 * One instance records the measured CPUs, a second one, on all CPUs, who sent interrupts to them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cpulist.h"
#include "trace_instance.h"
#include "text.h"

struct trace {
	/* The tracefs; -1: not in use. */
	int root;
	struct trace_keeper keeper;
	struct instance measured;
	struct instance senders;
	/* The kernel's name of its clock: "x86-tsc" counts the run's own ticks, "mono_raw" ns. */
	const char *clock;
	/* Events that this kernel has not. */
	struct strings missing;
};

/*
 * Begins to record. counter: whether the run reads the CPU's counter. buffer_kib: of each measured
 * CPU, allocated now. Returns 0, or -errno as tracefs_open() does; then nothing is left behind.
 */
int trace_start(const struct cpulist *measured, bool counter, uint64_t buffer_kib,
		struct trace *ret);

/* Removes the instances. */
void trace_deinit(struct trace *trace);

/* Stops recording; what was recorded stays. */
void trace_stop(struct trace *trace);

/*
 * Writes what was recorded as the kernel prints it: "trace.N" for each CPU N, "trace.senders".
 * made: the names of the files made so far, those of a failure too.
 */
int trace_save(const struct trace *trace, const struct cpulist *measured, int folder,
	       struct strings *made);

/* Events that found no room: of one measured CPU, and of who sent interrupts, on all CPUs. */
uint64_t trace_lost(const struct trace *trace, unsigned int cpu);
uint64_t trace_senders_lost(const struct trace *trace);

/* Enables the events of both; trace_start() does. */
void trace_events_enable(struct trace *trace, const struct cpulist *measured);
