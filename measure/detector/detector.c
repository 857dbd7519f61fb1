/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "detector.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "xalloc.h"

#define REHEARSALS 8
#define REHEARSAL_READS 1024
#define REHEARSAL_WINDOWS 8
/* Limit for storing a gap with cold caches; on slow machines as a multiple of the usual cost. */
#define STORING_MAX_NS 1000
#define STORING_MAX_COSTS 16

const uint64_t detector_levels_ns[SPIN_LEVELS] = { 100, 1000, 10000, 100000 };

/* The memory that a detector writes to; the log has the length log_size of its detectors. */
struct detector_memory {
	struct hist hist;
	struct hist work;
	struct gap log[];
};

static uint64_t read_counter(void *source)
{
	(void)source;
	return clock_counter();
}

static uint64_t read_gettime(void *source)
{
	(void)source;
	return clock_raw_ns();
}

static void run_loop(struct detector *detector, const atomic_bool *stop)
{
	if (detector->all->clock->kind == CLOCK_KIND_COUNTER)
		spin_loop(&detector->spin, read_counter, NULL, stop);
	else
		spin_loop(&detector->spin, read_gettime, NULL, stop);
}

static size_t log_bytes(const struct detectors *all)
{
	return all->log_size * sizeof(struct gap);
}

/* Runs on the detector's own CPU, so that its memory is on the near NUMA node. */
static int prepare(struct detector *detector)
{
	struct spin *spin = &detector->spin;
	const size_t log = log_bytes(detector->all);
	struct detector_memory *memory = mmap(NULL, sizeof(*memory) + log, PROT_READ | PROT_WRITE,
					      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	/* Without permission they stay unlocked; page_faults shows whether that mattered. */
	mlock(memory, sizeof(*memory));
	mlock(memory->log, log);
	detector->memory = memory;
	spin->hist = &memory->hist;
	spin->work = &memory->work;
	spin->log = memory->log;
	spin->log_size = detector->all->log_size;
	memset(memory, 0, sizeof(*memory) + log);
	return policy_apply(&detector->all->policy);
}

static void reset(struct spin *spin, const struct spin *fresh)
{
	*spin = *fresh;
	hist_reset(spin->hist);
	hist_reset(spin->work);
}

/* A short run, like the real one except for the threshold. */
static void try_out(struct detector *detector, const struct spin *fresh, uint64_t threshold)
{
	struct spin *spin = &detector->spin;

	reset(spin, fresh);
	spin->threshold = threshold;
	spin->storing_max = UINT64_MAX;
	spin->duration = (uint64_t)(detector->floor[0] * REHEARSAL_READS);
	spin->window = spin->duration / REHEARSAL_WINDOWS;
	run_loop(detector, &detector->all->stop);
}

/* Stores every reading as a gap. Returns the ticks that storing one took. */
static double store_all(struct detector *detector, const struct spin *fresh)
{
	try_out(detector, fresh, 0);
	return (double)detector->spin.dead / (double)(detector->spin.gaps + 1);
}

/* Touches the code and data of storing before they count. */
static void rehearse(struct detector *detector)
{
	const struct spin fresh = detector->spin;
	double cost = store_all(detector, &fresh), most;

	/* The least of several: an interruption that hits some of them can't hit all. */
	for (int i = 1; i < REHEARSALS; i++)
		cost = fmin(cost, store_all(detector, &fresh));
	try_out(detector, &fresh, UINT64_MAX);
	reset(&detector->spin, &fresh);
	most = fmax(STORING_MAX_COSTS * cost, STORING_MAX_NS / fresh.ns_per_tick);
	detector->spin.storing_max = (uint64_t)fmax(most, (double)fresh.threshold);
}

/* The kernel moves a thread to other CPUs if its own goes offline. */
static bool was_moved(const struct detector *detector)
{
	cpulist_set set;

	return sched_getcpu() != (int)detector->cpu || sched_getaffinity(0, sizeof(set), set) ||
	       CPU_COUNT_S(sizeof(set), set) != 1;
}

static void measure(struct detector *detector)
{
	struct rusage before, after;

	rehearse(detector);
	detector->spin.live = &detector->live;
	getrusage(RUSAGE_THREAD, &before);
	if (detector->all->isolation)
		detector->isolation = isolation_enter(detector->all->isolation);
	run_loop(detector, &detector->all->stop);
	if (detector->all->isolation)
		isolation_leave(detector->all->isolation);
	getrusage(RUSAGE_THREAD, &after);
	detector->page_faults =
		after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt;
	detector->switches = after.ru_nvcsw + after.ru_nivcsw - before.ru_nvcsw - before.ru_nivcsw;
	detector->moved = was_moved(detector);
	detector->floor[1] = clock_floor(detector->all->clock);
	detector->measured = true;
}

/* Keeps the CPU as busy as the loop does, until the flag is set. */
static void spin_until(const struct clock_source *clock, const atomic_bool *flag)
{
	while (!atomic_load_explicit(flag, memory_order_acquire))
		clock_now(clock);
}

static void *detector_main(void *arg)
{
	struct detector *detector = arg;
	struct detectors *all = detector->all;

	detector->tid = gettid();
	detector->error = prepare(detector);
	if (!detector->error)
		detector->floor[0] = clock_floor(all->clock);
	atomic_fetch_add(&all->ready, 1);
	spin_until(all->clock, &all->warm);
	if (!detector->error && !atomic_load(&all->stop))
		measure(detector);
	/* Leaving now would disturb detectors that still measure. */
	atomic_fetch_add(&all->finished, 1);
	spin_until(all->clock, &all->leave);
	return NULL;
}

static int start_thread(struct detector *detector)
{
	const struct cpulist own = { .cpus = &detector->cpu, .count = 1 };
	pthread_attr_t attr;
	cpulist_set set;
	int err;

	cpulist_to_set(&own, set);
	pthread_attr_init(&attr);
	err = pthread_attr_setaffinity_np(&attr, sizeof(set), set);
	if (!err)
		err = pthread_create(&detector->thread, &attr, detector_main, detector);
	pthread_attr_destroy(&attr);
	return -err;
}

static int start_all(struct detectors *all)
{
	int err = 0;

	while (!err && all->started < all->count) {
		err = start_thread(&all->items[all->started]);
		all->started += !err;
	}
	while (atomic_load(&all->ready) < all->started)
		usleep(200);
	for (size_t i = 0; !err && i < all->started; i++)
		err = all->items[i].error;
	return err;
}

int detectors_start(struct detectors *ret, const struct clock_source *clock,
		    const struct cpulist *cpus, const struct policy *policy, size_t log_size)
{
	*ret = (struct detectors){
		.clock = clock,
		.policy = *policy,
		.isolation = isolation_offered(""),
		.log_size = log_size,
		.items = xalloc_check(
			aligned_alloc(DETECTOR_ALIGN, cpus->count * sizeof(*ret->items))),
		.count = cpus->count,
	};
	for (size_t i = 0; i < cpus->count; i++)
		ret->items[i] = (struct detector){ .all = ret, .cpu = cpus->cpus[i] };
	return start_all(ret);
}

void detectors_measure(struct detectors *detectors, uint64_t threshold_ns, uint64_t duration_ns)
{
	const double ns_per_tick = clock_ns(detectors->clock, 1);

	for (size_t i = 0; i < detectors->started; i++) {
		struct spin *spin = &detectors->items[i].spin;

		spin->threshold = (uint64_t)((double)threshold_ns / ns_per_tick);
		spin->duration = (uint64_t)((double)duration_ns / ns_per_tick);
		spin->window = (uint64_t)(DETECTOR_WINDOW_NS / ns_per_tick);
		spin->ns_per_tick = ns_per_tick;
		for (int level = 0; level < SPIN_LEVELS; level++)
			spin->levels[level] =
				(uint64_t)((double)detector_levels_ns[level] / ns_per_tick);
	}
	atomic_store_explicit(&detectors->warm, true, memory_order_release);
}

bool detectors_finished(struct detectors *detectors)
{
	return atomic_load(&detectors->finished) == detectors->started;
}

void detectors_stop(struct detectors *detectors)
{
	atomic_store(&detectors->stop, true);
}

void detectors_join(struct detectors *detectors)
{
	atomic_store(&detectors->stop, true);
	atomic_store(&detectors->warm, true);
	atomic_store(&detectors->leave, true);
	while (detectors->started)
		pthread_join(detectors->items[--detectors->started].thread, NULL);
}

void detectors_deinit(struct detectors *detectors)
{
	const size_t size = sizeof(struct detector_memory) + log_bytes(detectors);

	for (size_t i = 0; i < detectors->count; i++) {
		if (detectors->items[i].memory)
			munmap(detectors->items[i].memory, size);
	}
	free(detectors->items);
	*detectors = (struct detectors){ 0 };
}
