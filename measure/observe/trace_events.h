/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the kernel's events are recorded. What a kernel has not is noted in the trace. */
#pragma once

#include "trace.h"

/* In one instance what interrupts and runs on the CPUs, in the other who sends interrupts to them. */
void trace_events_enable(struct trace *trace, const struct cpulist *measured);
