/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "second_opinion.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"

/* oslat calibrates and warms up for about two seconds; on a very noisy machine that never ends. */
#define OVERHEAD_NS (15 * NS_PER_S)

/* clang-format off */
static const struct opinion_tool tools[OPINION_TOOLS] = {
	[OPINION_OSLAT] = {
		"oslat", .program = "oslat", .package = "rt-tests", .version_mark = "oslat V ",
		.arguments = "--quiet --cpu-list {cpus} --cpu-main-thread {main} --duration {seconds} {policy}",
		.realtime = "--rtprio {priority}",
		.needs = "root, or LimitMEMLOCK and LimitRTPRIO raised",
	},
	/* A thread on each CPU; values above the histogram are counted. CPUs may use idle states. */
	[OPINION_CYCLICTEST] = {
		"cyclictest", .program = "cyclictest", .package = "rt-tests", .version_mark = "cyclictest V ",
		.arguments = "--quiet --mlockall --default-system --affinity={cpus} --threads={count} "
			     "--mainaffinity={main} --interval={interval} --histogram=1000 --duration={seconds} {policy}",
		.realtime = "--priority={priority}", .rr = "--policy=rr --priority={priority}", .other = "--policy=other",
		.needs = "root, or LimitMEMLOCK and LimitRTPRIO raised",
	},
	/* rtla: with root's settings of the tracer, except the threshold, which is 5 us by default. */
	{
		"osnoise", .program = "rtla", .package = "rtla", .version_mark = "rtla version ",
		.arguments = "osnoise hist --cpus {cpus} --duration {seconds}s {policy} --threshold=1",
		.realtime = "--priority=f:{priority}", .other = "--priority=o:0",
		.needs = "root and a kernel with CONFIG_OSNOISE_TRACER or CONFIG_TIMERLAT_TRACER",
	},
	{
		"timerlat", .program = "rtla", .package = "rtla", .version_mark = "rtla version ",
		.arguments = "timerlat hist --cpus {cpus} --duration {seconds}s {policy}",
		.realtime = "--priority=f:{priority}", .other = "--priority=o:0",
		.needs = "root and a kernel with CONFIG_OSNOISE_TRACER or CONFIG_TIMERLAT_TRACER",
	},
};
/* clang-format on */

const struct opinion_tool *opinion_tool(size_t tool)
{
	return &tools[tool];
}

const char *opinion_name(size_t tool)
{
	return tool < OPINION_TOOLS ? tools[tool].name : NULL;
}

static const char *policy_of(const struct opinion_tool *tool, const struct policy *policy)
{
	if (!policy->priority)
		return tool->other ? tool->other : "";
	return policy->kind == POLICY_RR && tool->rr ? tool->rr : tool->realtime;
}

/* Replaces {name}, which stands there once or not at all. Frees the text and the value. */
static char *fill(char *text, const char *name, char *value)
{
	char *place = strstr(text, name), *filled;

	if (place) {
		*place = '\0';
		filled = text_format("%s%s%s", text, value, place + strlen(name));
		free(text);
		text = filled;
	}
	free(value);
	return text;
}

static void add_arguments(const struct opinion_tool *tool, const struct opinion_options *options,
			  struct strings *command)
{
	const uint64_t interval = options->interval_ns ? options->interval_ns : NS_PER_MS;
	const uint64_t seconds = (options->duration_ns + NS_PER_S - 1) / NS_PER_S;
	char *text = text_format("%s", tool->arguments);

	text = fill(text, "{policy}", text_format("%s", policy_of(tool, options->policy)));
	text = fill(text, "{priority}", text_format("%d", options->policy->priority));
	text = fill(text, "{cpus}", cpulist_format(options->cpus));
	text = fill(text, "{count}", text_format("%zu", options->cpus->count));
	text = fill(text, "{main}", text_format("%u", options->main_cpu));
	text = fill(text, "{interval}", text_format("%" PRIu64, interval / NS_PER_US));
	text = fill(text, "{seconds}", text_format("%" PRIu64, seconds));
	strings_take_words(command, text);
}

int opinion_start(size_t tool, const struct opinion_options *options, struct opinion *ret)
{
	char *const ask[] = { (char *)tools[tool].program, "--help", NULL };
	_cleanup_free_ char *help = NULL;
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
	add_arguments(&tools[tool], options, &ret->command);
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
