/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "work.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "argument.h"
#include "units.h"

static struct clock_source source;

#define ENOUGH 10

/* Works for `us` on the CPUs and returns the first result; the others are freed. */
static struct work_result *work_on(enum work_kind kind, const struct cpulist *cpus, unsigned int us)
{
	const struct policy policy = { .kind = POLICY_OTHER };
	const size_t kinds[] = { kind };
	struct work work = {
		.kinds = kinds, .kind_count = 1, .cpus = cpus, .policy = &policy, .clock = &source
	};
	struct work_result *results[8] = { NULL };

	if (work_start(&work))
		abort();
	usleep(us);
	work_finish(&work, results);
	for (size_t i = 1; i < cpus->count; i++)
		work_result_free(results[i]);
	return results[0];
}

/* On a host that is busy with something else it takes longer to have some. */
static struct work_result *work_enough(enum work_kind kind, const struct cpulist *cpus)
{
	struct work_result *result = work_on(kind, cpus, 50000);

	for (unsigned int us = 200000; result->time.count <= ENOUGH && us < 10000000; us *= 3) {
		work_result_free(result);
		result = work_on(kind, cpus, us);
	}
	return result;
}

static void test_kind(enum work_kind kind, struct cpulist *cpus)
{
	struct work_result *result = work_enough(kind, cpus);

	ok(result->time.count > ENOUGH && result->time.count == result->hist.total,
	   "%s: all are counted", work_name(kind));
	ok((double)result->hist.min <= result->time.mean + 0.5 &&
		   result->time.mean <= (double)result->hist.max + 0.5,
	   "the mean lies between");
	ok(moments_variance(&result->time) >= 0 && result->cpu == cpus->cpus[0],
	   "variance and CPU");
	work_result_free(result);
}

/* Each moment counts, and the next kind is each CPU's own. */
static void test_schedule_and_mixture(struct cpulist *cpus)
{
	const size_t kinds[] = { WORK_CLOCK_NANOSLEEP, WORK_KILL };
	const struct policy policy = { .kind = POLICY_OTHER };
	unsigned int twice[] = { cpus->cpus[0], cpus->cpus[0] };
	const struct cpulist both = { .cpus = twice, .count = 2 };
	struct work work = { .kinds = kinds, .kind_count = 2, .turn = 1, .cpus = &both };
	struct work_result *results[2];
	const uint64_t begin = clock_now(&source);

	work.policy = &policy;
	work.clock = &source;
	work.interval_ns = NS_PER_MS;
	work.wakeups = 20;
	if (work_start(&work))
		abort();
	work_finish(&work, results);
	ok(results[0]->hist.total == 20 && results[0]->time.count == 20, "no moment is skipped");
	ok(begin < results[0]->latest && results[0]->latest <= clock_now(&source),
	   "the latest lies within");
	ok(results[0]->kind == WORK_KILL && results[1]->kind == WORK_CLOCK_NANOSLEEP,
	   "each CPU has the next kind");
	work_result_free(results[0]);
	work_result_free(results[1]);
}

int main(void)
{
	struct cpulist allowed, missing = { (unsigned int[]){ CPULIST_MAX - 1 }, 1 };
	struct work_result *result;

	clock_init(&source);
	usleep(30000);
	clock_calibrate(&source);
	if (cpulist_allowed(&allowed))
		return 1;
	allowed.count = 1;
	for (int kind = 0; kind < WORK_KINDS; kind++)
		test_kind((enum work_kind)kind, &allowed);
	test_schedule_and_mixture(&allowed);
	result = work_on(WORK_KILL, &missing, 50000);
	ok(result->error == -EINVAL && !result->time.count, "no work where there is no such CPU");
	work_result_free(result);
	ok(names_find(work_name, "usleep", 6) == WORK_USLEEP &&
		   names_find(work_name, "kill,", 4) == WORK_KILL,
	   "by name");
	ok(names_find(work_name, "kil", 3) == WORK_KINDS &&
		   names_find(work_name, "", 0) == WORK_KINDS,
	   "no other name");
	cpulist_deinit(&allowed);
	return tap_end();
}
