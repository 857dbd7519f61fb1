/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "work.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "units.h"
#include "xalloc.h"

#define WARM_PIECES 64
#define LINE 64

struct work_thread {
	struct work *work;
	pthread_t thread;
	bool started;
	struct work_result *result;
	unsigned char *memory;
	/* Keeps the compiler from optimising the work away. */
	uint64_t sum;
};

static void do_usleep(struct work_thread *thread)
{
	(void)thread;
	usleep(WORK_SLEEP_NS / NS_PER_US);
}

static void do_clock_nanosleep(struct work_thread *thread)
{
	const struct timespec time = { 0, WORK_SLEEP_NS };

	(void)thread;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void do_memory(struct work_thread *thread)
{
	unsigned char *memory = thread->memory;

	for (size_t i = 0; i < WORK_MEMORY_BYTES; i += LINE)
		memory[i] = (unsigned char)(memory[i] + 1);
	thread->sum += memory[0];
}

static void do_registers(struct work_thread *thread)
{
	uint64_t x = thread->sum | 1;

	for (int i = 0; i < WORK_ROUNDS; i++)
		x = x * UINT64_C(6364136223846793005) + 1;
	thread->sum = x;
}

/* To the caller's own process group, which the harness's children have left. */
static void do_kill(struct work_thread *thread)
{
	thread->sum += (uint64_t)kill(0, 0);
}

static void do_clock_gettime(struct work_thread *thread)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	thread->sum += (uint64_t)now.tv_nsec;
}

static const struct {
	const char *name;
	void (*piece)(struct work_thread *thread);
} kinds[WORK_KINDS] = {
	[WORK_USLEEP] = { "usleep", do_usleep },
	[WORK_CLOCK_NANOSLEEP] = { "clock_nanosleep", do_clock_nanosleep },
	[WORK_MEMORY] = { "memory", do_memory },
	[WORK_REGISTERS] = { "registers", do_registers },
	[WORK_KILL] = { "kill", do_kill },
	[WORK_CLOCK_GETTIME] = { "clock_gettime", do_clock_gettime },
};

const char *work_name(size_t kind)
{
	return kind < WORK_KINDS ? kinds[kind].name : NULL;
}

/* By Welford's recurrence, which avoids cancellation. */
void moments_add(struct moments *moments, double value)
{
	const double apart = value - moments->mean;

	moments->count++;
	moments->mean += apart / (double)moments->count;
	moments->squares += apart * (value - moments->mean);
}

double moments_variance(const struct moments *moments)
{
	return moments->count > 1 ? moments->squares / (double)(moments->count - 1) : 0;
}

static bool stopped(const struct work_thread *thread)
{
	return atomic_load_explicit(&thread->work->stop, memory_order_relaxed);
}

static void keep(struct work_result *result, double ns)
{
	moments_add(&result->time, ns);
	hist_add(&result->hist, (uint64_t)llround(fmax(ns, 0)));
}

static void work_on(struct work_thread *thread)
{
	const struct clock_source *clock = thread->work->clock;
	void (*piece)(struct work_thread *) = kinds[thread->result->kind].piece;

	while (!stopped(thread)) {
		const uint64_t begin = clock_now(clock);

		piece(thread);
		keep(thread->result, clock_ns(clock, (double)(clock_now(clock) - begin)));
	}
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void wake_on(struct work_thread *thread)
{
	const struct work *work = thread->work;
	struct work_result *result = thread->result;
	uint64_t due = monotonic_ns(), now = due;

	result->tid = gettid();
	hist_reset(&result->apart);
	for (uint64_t left = work->wakeups; left && !stopped(thread); left--) {
		struct timespec at;
		bool queued;

		due += work->interval_ns;
		queued = due < now;
		at = (struct timespec){ (time_t)(due / NS_PER_S), (long)(due % NS_PER_S) };
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
			;
		now = monotonic_ns();
		if (now - due > result->hist.max)
			result->latest = clock_now(work->clock);
		keep(result, (double)(now - due));
		if (!queued)
			hist_add(&result->apart, now - due);
	}
}

static void *thread_main(void *arg)
{
	struct work_thread *thread = arg;
	struct work *work = thread->work;
	const struct cpulist own = { .cpus = &thread->result->cpu, .count = 1 };

	thread->result->error = cpulist_bind(&own);
	if (!thread->result->error)
		thread->result->error = policy_apply(work->policy);
	memset(thread->memory, 1, WORK_MEMORY_BYTES);
	hist_reset(&thread->result->hist);
	for (int i = 0; i < WARM_PIECES; i++)
		kinds[thread->result->kind].piece(thread);
	atomic_fetch_add(&work->ready, 1);
	while (!atomic_load(&work->go))
		usleep(200);
	if (!thread->result->error && work->wakeups)
		wake_on(thread);
	else if (!thread->result->error)
		work_on(thread);
	return NULL;
}

static int start_thread(struct work *work, size_t index)
{
	struct work_thread *thread = &work->threads[index];
	int err;

	*thread = (struct work_thread){ .work = work };
	thread->result = xcalloc(1, sizeof(*thread->result));
	thread->memory = xcalloc(1, WORK_MEMORY_BYTES);
	thread->result->kind = work->kinds[(work->turn + index) % work->kind_count];
	thread->result->cpu = work->cpus->cpus[index];
	thread->result->beside = cpulist_format(work->cpus);
	err = pthread_create(&thread->thread, NULL, thread_main, thread);
	thread->started = !err;
	return -err;
}

int work_start(struct work *work)
{
	int err = 0;

	work->threads = xcalloc(work->cpus->count, sizeof(*work->threads));
	while (!err && work->count < work->cpus->count)
		err = start_thread(work, work->count++);
	while (!err && atomic_load(&work->ready) < work->count)
		usleep(200);
	atomic_store(&work->go, true);
	return err;
}

size_t work_finish(struct work *work, struct work_result **results)
{
	const size_t count = work->count;

	if (!work->wakeups)
		atomic_store(&work->stop, true);
	for (size_t i = 0; i < count; i++) {
		struct work_thread *thread = &work->threads[i];
		struct work_result *result = thread->result;

		if (thread->started)
			pthread_join(thread->thread, NULL);
		else
			result->error = -EAGAIN;
		free(thread->memory);
		results[i] = result;
	}
	free(work->threads);
	*work = (struct work){ 0 };
	return count;
}

void work_result_free(struct work_result *result)
{
	free(result->beside);
	free(result);
}
