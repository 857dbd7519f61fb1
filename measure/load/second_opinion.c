/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "second_opinion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"

/* oslat calibrates and warms up for about two seconds; on a very noisy machine that never ends. */
#define OVERHEAD_NS (15 * NS_PER_S)

struct tool {
	const char *name;
	const char *program;
	const char *package;
	/* The text before the version in its help. */
	const char *version_mark;
	/* Adds its arguments: the scheduler too, but not --json. */
	void (*add)(const struct opinion_options *options, const char *cpus,
		    struct opinion *opinion);
};

static uint64_t whole_seconds(const struct opinion_options *options)
{
	return (options->duration_ns + NS_PER_S - 1) / NS_PER_S;
}

/* Adds the policy: with a priority as one option, else the option for SCHED_OTHER. */
static void add_policy(const struct opinion_options *options, const char *priority,
		       const char *other, struct strings *command)
{
	if (options->policy->priority)
		strings_add_words(command, "%s%d", priority, options->policy->priority);
	else
		strings_add_words(command, "%s", other);
}

static void add_oslat(const struct opinion_options *options, const char *cpus,
		      struct opinion *opinion)
{
	strings_add_words(&opinion->command,
			  "--quiet --cpu-list %s --cpu-main-thread %u --duration %" PRIu64, cpus,
			  options->main_cpu, whole_seconds(options));
	add_policy(options, "--rtprio ", "", &opinion->command);
}

/* A thread on each CPU; values above the histogram are counted. CPUs may use idle states. */
static void add_cyclictest(const struct opinion_options *options, const char *cpus,
			   struct opinion *opinion)
{
	strings_add_words(&opinion->command,
			  "--quiet --mlockall --default-system --affinity=%s --threads=%zu "
			  "--mainaffinity=%u --interval=%" PRIu64
			  " --histogram=1000 --duration=%" PRIu64,
			  cpus, options->cpus->count, options->main_cpu,
			  (options->interval_ns ? options->interval_ns : NS_PER_MS) / NS_PER_US,
			  whole_seconds(options));
	if (options->policy->kind == POLICY_RR)
		strings_add(&opinion->command, "--policy=rr");
	add_policy(options, "--priority=", "--policy=other", &opinion->command);
}

/* With root's settings of the tracer, except the threshold, which is 5 us by default. */
static void add_rtla(const struct opinion_options *options, const char *cpus,
		     struct opinion *opinion)
{
	strings_add_words(&opinion->command, "%s hist --cpus %s --duration %" PRIu64 "s",
			  opinion_name(opinion->tool), cpus, whole_seconds(options));
	add_policy(options, "--priority=f:", "--priority=o:0", &opinion->command);
	if (opinion->tool == OPINION_OSNOISE)
		strings_add(&opinion->command, "--threshold=1");
}

static const struct tool tools[OPINION_TOOLS] = {
	[OPINION_OSLAT] = { "oslat", "oslat", "rt-tests", "oslat V ", add_oslat },
	[OPINION_CYCLICTEST] = { "cyclictest", "cyclictest", "rt-tests", "cyclictest V ",
				 add_cyclictest },
	[OPINION_OSNOISE] = { "osnoise", "rtla", "rtla", "rtla version ", add_rtla },
	[OPINION_TIMERLAT] = { "timerlat", "rtla", "rtla", "rtla version ", add_rtla },
};

const char *opinion_name(size_t tool)
{
	return tool < OPINION_TOOLS ? tools[tool].name : NULL;
}

const char *opinion_package(size_t tool)
{
	return tools[tool].package;
}

int opinion_start(size_t tool, const struct opinion_options *options, struct opinion *ret)
{
	char *const ask[] = { (char *)tools[tool].program, "--help", NULL };
	_cleanup_free_ char *help = NULL, *cpus = cpulist_format(options->cpus);
	_cleanup_free_ char *output = text_format("%s.log", tools[tool].name);
	_cleanup_free_ char *file = text_format("%s.json", tools[tool].name);
	struct child_options child = {
		.output = output,
		.file = file,
		.scratch = options->scratch,
		.limit_ns = options->duration_ns + OVERHEAD_NS,
	};
	int err;

	*ret = (struct opinion){ .tool = tool };
	err = child_ask(ask, options->scratch, &help);
	if (err)
		return err;
	ret->version = text_word_after(help, tools[tool].version_mark, " :\t\n");
	if (!ret->version)
		ret->version = text_format("unknown");
	strings_add(&ret->command, "%s", tools[tool].program);
	tools[tool].add(options, cpus, ret);
	if (help && strstr(help, "--json"))
		strings_add(&ret->command, "--json=%s.json", tools[tool].name);
	child.argv = ret->command.items;
	return child_start(&child, &ret->child);
}

#define ERROR_PREFIX "ERROR: "

/* oslat prints its reason in lines that begin with ERROR; the other tools end with theirs. */
char *opinion_complaint(const struct opinion *opinion)
{
	const char *best = NULL, *last = NULL;
	size_t length;

	for (const char *line = opinion->child.output; line && *line;
	     line += length + !!line[length]) {
		length = strcspn(line, "\n");
		if (length > strlen(ERROR_PREFIX) &&
		    !strncmp(line, ERROR_PREFIX, strlen(ERROR_PREFIX)))
			best = line + strlen(ERROR_PREFIX);
		else if (length && strncmp(line, ERROR_PREFIX, strlen("ERROR")) != 0)
			last = line;
	}
	best = best ? best : last;
	return best ? strndup(best, strcspn(best, "\n")) : NULL;
}

void opinion_deinit(struct opinion *opinion)
{
	child_deinit(&opinion->child);
	strings_deinit(&opinion->command);
	free(opinion->version);
}
