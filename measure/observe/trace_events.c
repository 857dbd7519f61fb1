/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_events.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

/* By system and event, as below events/; the names are the kernel's (include/trace/events). */
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

static int enable_one(struct trace *trace, int folder, const char *system, const char *event)
{
	char path[PATH_MAX];
	int err;

	snprintf(path, sizeof(path), "events/%s/%s/enable", system, event);
	err = tracefs_write(folder, path, "1");
	if (!err)
		strings_add(&trace->events, "%s/%s", system, event);
	return err;
}

/* Returns whether the kernel has an event of that pattern. */
static bool enable(struct trace *trace, int folder, const char *pattern)
{
	const char *event = strchr(pattern, '/') + 1;
	_cleanup_closedir_ DIR *events = NULL;
	char system[32], path[64];
	bool found = false;
	int fd;

	snprintf(system, sizeof(system), "%.*s", (int)(event - 1 - pattern), pattern);
	snprintf(path, sizeof(path), "events/%s", system);
	fd = openat(folder, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	events = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *entry = events ? readdir(events) : NULL; entry;
	     entry = readdir(events)) {
		if (!strcmp(entry->d_name, "enable") || !strcmp(entry->d_name, "filter") ||
		    entry->d_name[0] == '.' || fnmatch(event, entry->d_name, 0))
			continue;
		found |= !enable_one(trace, folder, system, entry->d_name);
	}
	return found;
}

static void enable_all(struct trace *trace, int folder, const char *const patterns[])
{
	for (; *patterns; patterns++) {
		if (!enable(trace, folder, *patterns))
			strings_add(&trace->missing, "%s", *patterns);
	}
}

void trace_events_measured(struct trace *trace)
{
	enable_all(trace, trace->measured.folder, measured_events);
}

/* Kernels before 6.6 have no such filter; then the reader leaves out what went elsewhere. */
static void filter_senders(int folder, const struct cpulist *cpus)
{
	_cleanup_free_ char *list = cpulist_format(cpus), *text = NULL;

	if (!list || asprintf(&text, "cpu & CPUS{%s}", list) < 0)
		return;
	tracefs_write(folder, "events/ipi/ipi_send_cpu/filter", text);
	free(text);
	if (asprintf(&text, "cpumask & CPUS{%s}", list) < 0) {
		text = NULL;
		return;
	}
	tracefs_write(folder, "events/ipi/ipi_send_cpumask/filter", text);
}

void trace_events_senders(struct trace *trace, const struct cpulist *measured)
{
	filter_senders(trace->senders.folder, measured);
	enable_all(trace, trace->senders.folder, sender_events);
}
