/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every switch of a thread is recorded, in order, and what finds no room is counted. */
#include "switches.h"
#include "tap.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock.h"

#define SLEEPS 500

struct sleeper {
	atomic_int tid;
	atomic_bool go;
	atomic_bool done;
	atomic_bool leave;
	uint64_t begin;
	uint64_t end;
	/* The kernel's count of switches between them. */
	size_t switches;
};

static size_t count_switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (size_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

/* Reads both without a switch in between. */
static size_t mark(uint64_t *raw_ns)
{
	size_t switches;

	do {
		switches = count_switches();
		*raw_ns = clock_raw_ns();
	} while (count_switches() != switches);
	return switches;
}

static void *sleeper_main(void *arg)
{
	struct sleeper *sleeper = arg;
	size_t before;

	atomic_store(&sleeper->tid, gettid());
	while (!atomic_load(&sleeper->go))
		;
	before = mark(&sleeper->begin);
	for (int i = 0; i < SLEEPS; i++)
		/* Long enough to be slept, though a slow machine may come too late for some. */
		usleep(1000);
	sleeper->switches = mark(&sleeper->end) - before;
	atomic_store(&sleeper->done, true);
	while (!atomic_load(&sleeper->leave))
		usleep(1000);
	return NULL;
}

static void check_records(const struct switches *switches, const struct sleeper *sleeper)
{
	size_t outs = 0, ins = 0, disordered = 0;

	for (size_t i = 0; i < switches->count; i++) {
		const struct switch_record *record = &switches->records[i];

		disordered += i && record->raw_ns < record[-1].raw_ns;
		if (record->raw_ns < sleeper->begin || record->raw_ns > sleeper->end)
			continue;
		outs += record->out;
		ins += !record->out;
	}
	ok(outs > 0 && outs == sleeper->switches && outs == ins, "%zu switches out, %zu in, of %zu",
	   outs, ins, sleeper->switches);
	ok(disordered == 0, "in order");
	ok(switches->lost == 0, "none lost");
}

static void test_written(const struct switches *switches)
{
	char *text = NULL;
	size_t size = 0, lines = 0;
	FILE *file = open_memstream(&text, &size);

	ok(switches_write(switches, file) == 0, "written");
	fclose(file);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	ok(lines == switches->count && !strncmp(text, "7,", 2), "%zu lines", lines);
	free(text);
}

static int run(size_t size, struct switches *switches, struct sleeper *sleeper)
{
	pthread_t thread;
	int err;

	*sleeper = (struct sleeper){ 0 };
	pthread_create(&thread, NULL, sleeper_main, sleeper);
	while (!atomic_load(&sleeper->tid))
		usleep(100);
	err = switches_init(atomic_load(&sleeper->tid), 7, size, switches);
	atomic_store(&sleeper->go, true);
	while (!atomic_load(&sleeper->done)) {
		switches_drain(switches);
		usleep(100);
	}
	switches_stop(switches);
	atomic_store(&sleeper->leave, true);
	pthread_join(thread, NULL);
	return err;
}

int main(void)
{
	struct sleeper sleeper;
	struct switches switches;
	int err = run(1 << 16, &switches, &sleeper);

	if (err == -EACCES || err == -EPERM || err == -ENOSYS || err == -ENOENT) {
		ok(true, "no perf here: %s # SKIP kernel.perf_event_paranoid is above 2",
		   strerror(-err));
		return tap_end();
	}
	ok(err == 0, "started (%s)", strerror(-err));
	check_records(&switches, &sleeper);
	test_written(&switches);
	switches_deinit(&switches);
	run(100, &switches, &sleeper);
	ok(switches.count == 100 && switches.count + switches.lost >= 2 * sleeper.switches,
	   "a full one counts %" PRIu64, switches.lost);
	switches_deinit(&switches);
	ok(switches_init(-2, 7, 10, &switches) < 0, "no such thread");
	switches_deinit(&switches);
	return tap_end();
}
