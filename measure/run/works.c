/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "phases.h"
#include "units.h"
#include "waits.h"
#include "xalloc.h"

static uint64_t duration(const struct run *run)
{
	return least(run->options.duration_ns, WORK_LONGEST_NS);
}

/* Returns the number of kinds. */
static size_t asked_kinds(const struct run *run, size_t ret[WORK_KINDS])
{
	size_t count = 0;

	for (size_t kind = 0; kind < WORK_KINDS; kind++) {
		if (run->options.work[kind])
			ret[count++] = kind;
	}
	return count;
}

uint64_t works_longest_ns(const struct run *run)
{
	const uint64_t turns = run->options.work_alone ? run->setup.measured.count : 1;
	size_t kinds[WORK_KINDS];

	return asked_kinds(run, kinds) * turns * duration(run);
}

static void make_on(struct run *run, struct work work, const struct cpulist *cpus)
{
	int err;

	work.cpus = cpus;
	work.policy = &run->options.policy;
	work.clock = &run->clock;
	err = work_start(&work);
	if (err)
		run_partial(run, "--work: could not be started (%s)", strerror(-err));
	else
		run_wait_until(run, clock_raw_ns() + duration(run));
	for (size_t i = work_finish(&work, run->works + run->work_count); i > 0; i--) {
		const struct work_result *result = run->works[run->work_count++];

		if (result->error)
			run_partial(run, "--work %s: CPU %u could not be worked on (%s)",
				    work_name(result->kind), result->cpu, strerror(-result->error));
	}
}

static void make_turn(struct run *run, struct work work)
{
	const struct cpulist *measured = &run->setup.measured;
	const size_t together = run->options.work_alone ? 1 : measured->count;

	for (size_t i = 0; i < measured->count && !run->interrupted; i += together) {
		const struct cpulist part = { .cpus = &measured->cpus[i], .count = together };

		make_on(run, work, &part);
	}
}

void works_make(struct run *run)
{
	const bool mixed = run->options.work_mixed;
	size_t kinds[WORK_KINDS];
	const size_t count = asked_kinds(run, kinds);

	if (!works_longest_ns(run) || run->interrupted)
		return;
	phases_tell(run->options.phases, "work");
	run->works = xcalloc(WORK_KINDS * run->setup.measured.count, sizeof(struct work_result *));
	if (run->host.emulated)
		run_note(run, "--work measures durations only, which mean nothing "
			      "where the CPUs are emulated");
	for (size_t turn = 0; turn < count && !run->interrupted; turn++)
		make_turn(run, (struct work){
				       .kinds = mixed ? kinds : &kinds[turn],
				       .kind_count = mixed ? count : 1,
				       .turn = mixed ? turn : 0,
			       });
}

static int start_matrix(struct run *run, size_t part)
{
	const struct cpulist cpu = { .cpus = &run->setup.measured.cpus[part], .count = 1 };
	const struct load_options options = {
		.scenario = &load_throughput,
		.tool = &run->load_tool,
		.part = part,
		.cpus = &cpu,
		.confined = true,
		.scratch = &run->scratch,
		.seed = run->options.seed,
		.limit_ns = run->options.throughput.length_ns - 1,
	};
	struct load *load = &run->throughput[run->throughput_count];
	int err = load_start(&options, load);

	run->throughput_count += !err;
	return err;
}

double works_rate(const struct run *run, size_t turn)
{
	const size_t cpus = run->setup.measured.count;
	double sum = 0;

	for (size_t i = turn * cpus; i < (turn + 1) * cpus; i++) {
		const double rate = i < run->throughput_count ? load_rate(&run->throughput[i]) : 0;

		if (rate <= 0)
			return 0;
		sum += rate;
	}
	return sum;
}

/* On all CPUs at once, one part for each: the scheduler moves no task to an isolated CPU. */
static int make_throughput(struct run *run, size_t turn)
{
	const size_t cpus = run->setup.measured.count;
	double rate;
	int err = 0;

	for (size_t part = 0; !err && part < cpus; part++)
		err = start_matrix(run, part);
	for (size_t i = turn * cpus; i < run->throughput_count; i++)
		run_wait_child(run, &run->throughput[i].child);
	rate = works_rate(run, turn);
	if (rate > 0)
		moments_add(&run->products, rate);
	return err || run->interrupted || rate > 0 ? err : -EPROTO;
}

void works_throughput(struct run *run)
{
	const size_t turns = (size_t)run->options.throughput.count;
	int err = 0;

	if (!turns || run->interrupted)
		return;
	phases_tell(run->options.phases, "throughput");
	if (!run->load_tool.version) {
		load_tool_deinit(&run->load_tool);
		err = load_tool_init(&run->scratch, &run->load_tool);
	}
	run->throughput = xcalloc(turns * run->setup.measured.count, sizeof(*run->throughput));
	for (size_t turn = 0; !err && !run->interrupted && turn < turns; turn++)
		err = make_throughput(run, turn);
	if (err)
		run_partial(run, "--throughput: %s",
			    err == -ENOENT ? "stress-ng is not installed; install stress-ng" :
			    err == -EPROTO ? "stress-ng gave no figure" :
					     strerror(-err));
}

void works_deinit(struct run *run)
{
	for (size_t i = 0; i < run->work_count; i++)
		work_result_free(run->works[i]);
	free(run->works);
	for (size_t i = 0; i < run->throughput_count; i++)
		load_deinit(&run->throughput[i]);
	free(run->throughput);
}
