/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cleanup.h"

/* The senders' buffers, one on each CPU: a part of a measured CPU's, in KiB. */
#define SENDERS_PART 128
#define SENDERS_MIN UINT64_C(256)

/* Stoppers and hotplug threads work for others, who wake them up. */
#define SERVANTS "(comm ~ \"migration/*\" || comm ~ \"cpuhp/*\")"

/* New instances inherit an administrator's global options. */
static const char *const text_options[] = {
	"noraw",	 "nohex",    "nobin",	  "nofields",	      "noverbose",
	"context-info",	 "irq-info", "overwrite", "nolatency-format", "nosym-addr",
	"norecord-tgid", NULL,
};

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
	"cpuhp/cpuhp_enter",
	"cpuhp/cpuhp_multi_enter",
	NULL,
};

static const char *const sender_events[] = {
	"ipi/ipi_send_cpu",
	"ipi/ipi_send_cpumask",
	NULL,
};

static int write_number(int folder, const char *path, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return text_write(folder, path, text);
}

/* The kernel's bitmaps: groups of 32 bits in hexadecimal, the highest first. */
static int write_mask(int folder, const struct cpulist *cpus)
{
	char text[CPULIST_MAX / 32 * 9 + 1];
	const size_t groups = cpus->cpus[cpus->count - 1] / 32 + 1;
	uint32_t words[CPULIST_MAX / 32] = { 0 };
	size_t used = 0;

	for (size_t i = 0; i < cpus->count; i++)
		words[cpus->cpus[i] / 32] |= UINT32_C(1) << cpus->cpus[i] % 32;
	for (size_t i = groups; i-- > 0;)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%08" PRIx32 "%s",
					 words[i], i ? "," : "");
	return text_write(folder, "tracing_cpumask", text);
}

static int prepare(const struct trace *trace, int folder, uint64_t buffer_kib)
{
	int err = text_write(folder, "trace_clock", trace->clock);

	for (const char *const *option = text_options; *option; option++)
		text_write(folder, "trace_options", *option);
	return err ? err : write_number(folder, "buffer_size_kb", buffer_kib);
}

static int prepare_measured(const struct trace *trace, const struct cpulist *cpus,
			    uint64_t buffer_kib)
{
	const int folder = trace->measured.folder;
	char path[64];
	int err = prepare(trace, folder, 4);

	if (!err)
		err = write_mask(folder, cpus);
	for (size_t i = 0; !err && i < cpus->count; i++) {
		snprintf(path, sizeof(path), "per_cpu/cpu%u/buffer_size_kb", cpus->cpus[i]);
		err = write_number(folder, path, buffer_kib);
	}
	return err;
}

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

/* Kernels before 6.6 lack the filters by CPU; the reader then drops what is for other CPUs. */
static void filter_senders(int folder, const struct cpulist *cpus)
{
	_cleanup_free_ char *list = cpulist_format(cpus);
	_cleanup_free_ char *one = text_format("cpu & CPUS{%s}", list);
	_cleanup_free_ char *many = text_format("cpumask & CPUS{%s}", list);

	text_write(folder, "events/ipi/ipi_send_cpu/filter", one);
	text_write(folder, "events/ipi/ipi_send_cpumask/filter", many);
}

/* Each with the stack that led to it. Without the filter these events are too many. */
static void enable_wakers(int folder)
{
	if (text_write(folder, "events/sched/sched_waking/filter", SERVANTS))
		return;
	text_write(folder, "events/sched/sched_waking/trigger", "stacktrace if " SERVANTS);
	text_write(folder, "events/sched/sched_waking/enable", "1");
}

/*
 * The page faults of other threads are part of their own time, and the most frequent event of a
 * load by far. Threads have the name of this one.
 */
static void filter_faults(int folder)
{
	char name[16] = "";
	_cleanup_free_ char *own = NULL;

	prctl(PR_GET_NAME, name);
	own = text_format("comm == \"%s\"", name);
	text_write(folder, "events/exceptions/filter", own);
}

/* While all are off: an event that is on before its partner records stays without an end. */
static void enable_events(struct trace *trace, const struct cpulist *measured)
{
	instance_switch(&trace->measured, false);
	filter_faults(trace->measured.folder);
	enable_all(trace, trace->measured.folder, measured_events);
	filter_senders(trace->senders.folder, measured);
	enable_all(trace, trace->senders.folder, sender_events);
	enable_wakers(trace->senders.folder);
	instance_switch(&trace->measured, true);
}

static int start_all(const struct cpulist *measured, uint64_t buffer_kib, struct trace *trace)
{
	const uint64_t part = buffer_kib / SENDERS_PART;
	int err = trace_keeper_init(&trace->keeper);

	if (!err)
		err = instance_init(trace->root, "", &trace->measured);
	if (!err)
		err = instance_init(trace->root, "-senders", &trace->senders);
	if (!err)
		err = prepare_measured(trace, measured, buffer_kib);
	if (!err)
		err = prepare(trace, trace->senders.folder,
			      part > SENDERS_MIN ? part : SENDERS_MIN);
	if (!err)
		enable_events(trace, measured);
	return err;
}

int trace_start(const struct cpulist *measured, bool counter, uint64_t buffer_kib,
		struct trace *ret)
{
	int err;

	*ret = (struct trace){
		.root = tracefs_open(),
		.measured = { .folder = -1, .on = -1 },
		.senders = { .folder = -1, .on = -1 },
		.clock = "mono_raw",
	};
#if defined(__x86_64__)
	if (counter)
		ret->clock = "x86-tsc";
#else
	(void)counter;
#endif
	if (ret->root < 0)
		return ret->root;
	err = start_all(measured, buffer_kib, ret);
	if (err)
		trace_deinit(ret);
	return err;
}

void trace_stop(struct trace *trace)
{
	instance_switch(&trace->measured, false);
	instance_switch(&trace->senders, false);
}

static int copy(int from_folder, const char *from, int to_folder, const char *to,
		struct strings *made)
{
	_cleanup_close_ int in = openat(from_folder, from, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out =
		openat(to_folder, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char block[64 << 10];
	ssize_t got;

	if (out >= 0)
		strings_add(made, "%s", to);
	if (in < 0 || out < 0)
		return -errno;
	for (got = read(in, block, sizeof(block)); got > 0; got = read(in, block, sizeof(block))) {
		for (ssize_t done = 0, one; done < got; done += one) {
			one = write(out, block + done, (size_t)(got - done));
			if (one < 0)
				return -errno;
		}
	}
	return got < 0 ? -errno : 0;
}

int trace_save(const struct trace *trace, const struct cpulist *measured, int folder,
	       struct strings *made)
{
	int err = copy(trace->senders.folder, "trace", folder, "trace.senders", made);

	for (size_t i = 0; !err && i < measured->count; i++) {
		char from[64], to[32];

		snprintf(from, sizeof(from), "per_cpu/cpu%u/trace", measured->cpus[i]);
		snprintf(to, sizeof(to), "trace.%u", measured->cpus[i]);
		err = copy(trace->measured.folder, from, folder, to, made);
	}
	return err;
}

/* Adds the losses of one CPU's buffer. Returns false if it has no buffer. */
static bool add_lost(int folder, unsigned int cpu, uint64_t *lost)
{
	_cleanup_free_ char *stats =
		text_read_trimmed("/proc/self/fd/%d/per_cpu/cpu%u/stats", folder, cpu);

	if (!stats)
		return false;
	*lost += text_count_after(stats, "\noverrun: ") +
		 text_count_after(stats, "\ncommit overrun: ") +
		 text_count_after(stats, "\ndropped events: ");
	return true;
}

uint64_t trace_lost(const struct trace *trace, unsigned int cpu)
{
	uint64_t lost = 0;

	add_lost(trace->measured.folder, cpu, &lost);
	return lost;
}

uint64_t trace_senders_lost(const struct trace *trace)
{
	uint64_t lost = 0;

	/* Every possible CPU has a buffer. */
	for (unsigned int cpu = 0; add_lost(trace->senders.folder, cpu, &lost); cpu++)
		;
	return lost;
}

void trace_deinit(struct trace *trace)
{
	instance_deinit(trace->root, &trace->measured);
	instance_deinit(trace->root, &trace->senders);
	trace_keeper_deinit(&trace->keeper);
	if (trace->root >= 0)
		close(trace->root);
	trace->root = -1;
	strings_deinit(&trace->missing);
}
