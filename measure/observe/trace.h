/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's trace of what ran on the measured CPUs, in private tracefs instances.
 *
 * One instance records the measured CPUs; a second one, on all CPUs, the senders of IPIs to them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cpulist.h"
#include "trace_instance.h"
#include "text.h"

struct trace {
	/* The tracefs; -1 if not in use. */
	int root;
	struct trace_keeper keeper;
	struct instance measured;
	struct instance senders;
	/* The trace clock's name: "x86-tsc" counts the run's own ticks, "mono_raw" ns. */
	const char *clock;
	/* Events that this kernel lacks. */
	struct strings missing;
};

/*
 * Begins to record. counter: whether the run reads the CPU's counter. buffer_kib: allocated now for
 * each measured CPU. Returns 0, or -errno as tracefs_open() does, with nothing left behind.
 */
int trace_start(const struct cpulist *measured, bool counter, uint64_t buffer_kib,
		struct trace *ret);

/* Removes the instances. */
void trace_deinit(struct trace *trace);

/* Stops recording; the records stay. */
void trace_stop(struct trace *trace);

/*
 * Writes the records as the kernel prints them: "trace.N" for each CPU N, "trace.senders". made:
 * the names of the files made so far, also on failure.
 */
int trace_save(const struct trace *trace, const struct cpulist *measured, int folder,
	       struct strings *made);

/* Lost events: of one measured CPU, and of the senders of interrupts, on all CPUs. */
uint64_t trace_lost(const struct trace *trace, unsigned int cpu);
uint64_t trace_senders_lost(const struct trace *trace);
