/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace.h"

#include <glob.h>

#include "cleanup.h"

/* By system and event, relative to events/; the names are the kernel's (include/trace/events). */
static const char *const measured_events[] = {
#if defined(__x86_64__)
	"irq_vectors/*_entry",
	"irq_vectors/*_exit",
	"exceptions/page_fault_*",
	"nmi/nmi_handler",
#else
	"ipi/ipi_entry",
	"ipi/ipi_exit",
#endif
	"irq/irq_handler_*",
	"irq/softirq_entry",
	"irq/softirq_exit",
	"irq/tasklet_*",
	"sched/sched_switch",
	"timer/hrtimer_expire_entry",
	"timer/timer_expire_entry",
	"workqueue/workqueue_execute_*",
	"osnoise/*",
	NULL,
};

static const char *const sender_events[] = {
	"ipi/ipi_send_cpu",
	"ipi/ipi_send_cpumask",
	NULL,
};

/* Returns whether the kernel has an event that matches the pattern. */
static bool enable(int folder, const char *pattern)
{
	_cleanup_free_ char *files =
		text_format("/proc/self/fd/%d/events/%s/enable", folder, pattern);
	glob_t found = { 0 };
	bool any = false;

	glob(files, 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		any |= !text_write(folder, found.gl_pathv[i], "1");
	globfree(&found);
	return any;
}

static void enable_all(struct trace *trace, int folder, const char *const patterns[])
{
	for (; *patterns; patterns++) {
		if (!enable(folder, *patterns))
			strings_add(&trace->missing, "%s", *patterns);
	}
}

/* Kernels before 6.6 lack this filter; the reader then drops interrupts to other CPUs. */
static void filter_senders(int folder, const struct cpulist *cpus)
{
	_cleanup_free_ char *list = cpulist_format(cpus);
	_cleanup_free_ char *one = text_format("cpu & CPUS{%s}", list);
	_cleanup_free_ char *many = text_format("cpumask & CPUS{%s}", list);

	text_write(folder, "events/ipi/ipi_send_cpu/filter", one);
	text_write(folder, "events/ipi/ipi_send_cpumask/filter", many);
}

void trace_events_enable(struct trace *trace, const struct cpulist *measured)
{
	enable_all(trace, trace->measured.folder, measured_events);
	filter_senders(trace->senders.folder, measured);
	enable_all(trace, trace->senders.folder, sender_events);
}
