/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instances of the kernel's trace: made, held open, and removed once no process holds them. */
#include "tap.h"
#include "trace.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool exists(const struct trace *trace, const char *path)
{
	return faccessat(trace->root, path, F_OK, 0) == 0;
}

static void test_saving(const struct trace *trace, const struct cpulist *cpus)
{
	char root[TREE_PATH], name[64];
	struct strings made = { 0 };
	int folder;

	tree_make(root);
	folder = open(root, O_RDONLY | O_DIRECTORY);
	snprintf(name, sizeof(name), "trace.%u", cpus->cpus[0]);
	ok(trace_save(trace, cpus, folder, &made) == 0 && made.count == 2, "saved, and told");
	ok(faccessat(folder, name, R_OK, 0) == 0, "%s is there", name);
	ok(faccessat(folder, "trace.senders", R_OK, 0) == 0, "trace.senders is there");
	ok(trace_save(trace, cpus, folder, &made) == -EEXIST && made.count == 2,
	   "nothing is overwritten");
	strings_deinit(&made);
	close(folder);
	tree_remove(root);
}

static void test_life(struct trace *trace, const struct cpulist *cpus)
{
	char path[sizeof(trace->measured.path)], senders[sizeof(path)], foreign[64];
	char *stats;
	struct trace other;

	snprintf(path, sizeof(path), "%s", trace->measured.path);
	snprintf(senders, sizeof(senders), "%s", trace->senders.path);
	ok(exists(trace, path) && exists(trace, senders), "'%s' and '%s'", path, senders);
	ok(trace->missing.count < 10, "%zu kinds of events are missing here", trace->missing.count);
	usleep(100000);
	trace_stop(trace);
	stats = text_read_trimmed("/proc/self/fd/%d/per_cpu/cpu%u/stats", trace->measured.folder,
				  cpus->cpus[0]);
	ok(stats && !strstr(stats, "entries: 0\n"), "events were recorded, %lu lost",
	   (unsigned long)trace_lost(trace, cpus->cpus[0]));
	free(stats);
	test_saving(trace, cpus);

	snprintf(foreign, sizeof(foreign), "instances/lowlat-others-%d", getpid());
	mkdirat(trace->root, "instances/lowlat-measure-1-abandoned", 0700);
	mkdirat(trace->root, foreign, 0700);
	/* Under the same number, as if it had been used again: the first is held and stays. */
	instances_sweep(0);
	ok(trace_start(cpus, true, 64, &other) != 0 || exists(trace, path), "what is held stays");
	ok(!exists(trace, "instances/lowlat-measure-1-abandoned"), "what was abandoned is gone");
	ok(exists(trace, foreign), "what is not ours stays");
	trace_deinit(&other);
	unlinkat(trace->root, foreign, AT_REMOVEDIR);
}

int main(void)
{
	unsigned int ids[] = { (unsigned int)sched_getcpu() };
	const struct cpulist cpus = { .cpus = ids, .count = 1 };
	struct trace trace;
	char path[sizeof(trace.measured.path)];
	int err = trace_start(&cpus, true, 1024, &trace), root;

	if (err) {
		ok(geteuid() != 0 || err == -EPERM || err == -ENODEV || err == -ENOENT,
		   "no trace here: %s # SKIP needs root and tracefs", strerror(-err));
		return tap_end();
	}
	test_life(&trace, &cpus);
	snprintf(path, sizeof(path), "%s", trace.measured.path);
	root = dup(trace.root);
	trace_deinit(&trace);
	trace.root = root;
	ok(!exists(&trace, path), "nothing is left");
	close(root);
	return tap_end();
}
