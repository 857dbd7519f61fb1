/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"

#define TEXT_LIMIT ((size_t)4 << 20)
#define METRICS_NAME "load.yaml"
#define INSTANCES_MAX 8
#define VERSION_TIMEOUT (20 * NS_PER_S)

/* One kind of worker; a memory hog gets its share of the scenario's memory. */
struct stressor {
	const char *name;
	const char *bytes_option;
	const char *rate_option;
};

struct load_scenario {
	const char *name;
	struct stressor stressors[8];
};

static const struct load_scenario scenarios[] = {
	{ "faults", { { "fault", NULL, NULL }, { "mmap", "--mmap-bytes", NULL } } },
	{ "vm", { { "vm", "--vm-bytes", NULL }, { "mmap", "--mmap-bytes", NULL } } },
	{ "timers",
	  { { "timer", NULL, "--timer-freq" },
	    { "timerfd", NULL, "--timerfd-freq" },
	    { "itimer", NULL, "--itimer-freq" } } },
	{ "mixed",
	  { { "fault", NULL, NULL },
	    { "vm", "--vm-bytes", NULL },
	    { "mmap", "--mmap-bytes", NULL },
	    { "timer", NULL, "--timer-freq" },
	    { "switch", NULL, NULL },
	    { "fork", NULL, NULL } } },
};

#define SCENARIO_COUNT (sizeof(scenarios) / sizeof(*scenarios))

const struct load_scenario *load_scenario_find(const char *name)
{
	for (size_t i = 0; i < SCENARIO_COUNT; i++) {
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	}
	return NULL;
}

const char *load_scenario_name(const struct load_scenario *scenario)
{
	return scenario->name;
}

const char *load_scenario_names(void)
{
	static char names[128];
	size_t used = 0;

	for (size_t i = 0; i < SCENARIO_COUNT && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, i ? ", %s" : "%s",
					 scenarios[i].name);
	return names;
}

/* What follows "version " in the first line of `stress-ng --version`. */
static char *parse_version(const char *text)
{
	const char *version = strstr(text, "version ");

	if (!version)
		return NULL;
	version += strlen("version ");
	return strndup(version, strcspn(version, " \t\n"));
}

static int read_version(const struct scratch *scratch, char **ret)
{
	char path[PATH_MAX + 16];
	char *const argv[] = { "stress-ng", "--version", NULL };
	const struct child_options options = {
		.argv = argv, .output = path, .scratch = scratch, .limit_ns = VERSION_TIMEOUT
	};
	_cleanup_free_ char *text = NULL;
	struct child child = { 0 };
	int err;

	snprintf(path, sizeof(path), "%s/version", scratch->path);
	err = child_start(&options, &child);
	if (err)
		return err;
	child_wait(&child);
	err = text_read(path, TEXT_LIMIT, &text);
	*ret = err ? NULL : parse_version(text);
	return *ret ? 0 : -EPROTO;
}

/* stress-ng 0.15 learnt to back off before it is killed for want of memory. */
static bool has_oom_avoid(const char *version)
{
	unsigned int major = 0, minor = 0;

	return sscanf(version, "%u.%u", &major, &minor) == 2 && (major > 0 || minor >= 15);
}

static void add_stressors(const struct load_options *options, struct strings *command)
{
	const struct stressor *stressors = options->scenario->stressors;
	const size_t cpus = options->cpus->count;
	const size_t instances = cpus < INSTANCES_MAX ? cpus : INSTANCES_MAX;
	uint64_t hogs = 0;

	for (const struct stressor *s = stressors; s->name; s++)
		hogs += s->bytes_option != NULL;
	for (const struct stressor *s = stressors; s->name; s++) {
		strings_add(command, "--%s", s->name);
		strings_add(command, "%zu", instances);
		if (s->bytes_option) {
			strings_add(command, "%s", s->bytes_option);
			/* stress-ng divides it by the instances itself. */
			strings_add(command, "%" PRIu64, options->memory / hogs);
		}
		if (s->rate_option) {
			strings_add(command, "%s", s->rate_option);
			strings_add(command, "1000");
		}
	}
}

/*
 * The seed stands first: behind a stressor, 0.15 takes it for an option of that one alone. Paths
 * are relative to the private folder, so that equal loads have equal commands.
 */
static void make_command(const struct load_options *options, struct load *load)
{
	struct strings *command = &load->command;

	strings_add(command, "stress-ng");
	strings_add(command, "--seed");
	strings_add(command, "%" PRIu64, options->seed);
	strings_add(command, "--timeout");
	strings_add(command, "%" PRIu64 "s", options->limit_ns / NS_PER_S + 1);
	strings_add(command, "--temp-path");
	strings_add(command, ".");
	strings_add(command, "--metrics");
	strings_add(command, "--yaml");
	strings_add(command, METRICS_NAME);
	if (has_oom_avoid(load->version))
		strings_add(command, "--oom-avoid");
	add_stressors(options, command);
}

int load_start(const struct load_options *options, struct load *ret)
{
	struct child_options child = {
		.cpus = options->cpus,
		.output = ret->log_path,
		.scratch = options->scratch,
		.limit_ns = options->limit_ns + 30 * NS_PER_S,
	};
	int err;

	*ret = (struct load){ .scenario = options->scenario };
	snprintf(ret->metrics_path, sizeof(ret->metrics_path), "%s/" METRICS_NAME,
		 options->scratch->path);
	snprintf(ret->log_path, sizeof(ret->log_path), "%s/load.log", options->scratch->path);
	err = read_version(options->scratch, &ret->version);
	if (err)
		return err;
	make_command(options, ret);
	child.argv = ret->command.items;
	return child_start(&child, &ret->child);
}

void load_read(struct load *load)
{
	if (text_read(load->metrics_path, TEXT_LIMIT, &load->metrics) < 0)
		load->metrics = NULL;
	if (text_read(load->log_path, TEXT_LIMIT, &load->log) < 0)
		load->log = NULL;
}

#define FAIL_MARK "fail:"

char *load_complaint(const struct load *load)
{
	const char *mark = load->log ? strstr(load->log, FAIL_MARK) : NULL;

	if (!mark)
		return NULL;
	mark += strlen(FAIL_MARK);
	mark += strspn(mark, " \t");
	/* "[1234] " is the worker. */
	if (*mark == '[')
		mark += strcspn(mark, " \n");
	mark += strspn(mark, " \t");
	return strndup(mark, strcspn(mark, "\n"));
}

void load_deinit(struct load *load)
{
	child_kill(&load->child);
	strings_deinit(&load->command);
	free(load->version);
	free(load->metrics);
	free(load->log);
}
