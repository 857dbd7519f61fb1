/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the kernel's events are recorded. What a kernel has not is noted in the trace. */
#ifndef LOWLAT_TRACE_EVENTS_H
#define LOWLAT_TRACE_EVENTS_H

#include "trace.h"

/* What interrupts and runs on a CPU, in the instance of the measured ones. */
void trace_events_measured(struct trace *trace);

/* Who sends interrupts to the measured CPUs, in the instance of the senders. */
void trace_events_senders(struct trace *trace, const struct cpulist *measured);

#endif
