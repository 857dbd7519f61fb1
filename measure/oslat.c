/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oslat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"

#define TEXT_LIMIT ((size_t)4 << 20)
#define JSON_NAME "oslat.json"
#define HELP_TIMEOUT (20 * NS_PER_S)
/* It calibrates and warms up for about two seconds, on a noisy machine for ever. */
#define OVERHEAD_NS (30 * NS_PER_S)

/* "oslat V 2.40" begins the help of every version. */
static char *parse_version(const char *help)
{
	const char *version = strstr(help, "oslat V ");

	if (!version)
		return strdup("unknown");
	version += strlen("oslat V ");
	return strndup(version, strcspn(version, " \t\n"));
}

static int read_help(const struct scratch *scratch, char **ret)
{
	char path[PATH_MAX + 16];
	char *const argv[] = { "oslat", "--help", NULL };
	const struct child_options options = {
		.argv = argv, .output = path, .scratch = scratch, .limit_ns = HELP_TIMEOUT
	};
	struct child child = { 0 };
	int err;

	snprintf(path, sizeof(path), "%s/oslat.help", scratch->path);
	err = child_start(&options, &child);
	if (err)
		return err;
	child_wait(&child);
	return text_read(path, TEXT_LIMIT, ret);
}

static void add_value(struct strings *command, const char *option, uint64_t value)
{
	strings_add(command, "%s", option);
	strings_add(command, "%" PRIu64, value);
}

static void make_command(const struct oslat_options *options, const char *help, struct oslat *oslat)
{
	_cleanup_free_ char *cpus = cpulist_format(options->cpus);
	struct strings *command = &oslat->command;

	strings_add(command, "oslat");
	strings_add(command, "--quiet");
	strings_add(command, "--cpu-list");
	strings_add(command, "%s", cpus ? cpus : "");
	add_value(command, "--cpu-main-thread", options->main_cpu);
	add_value(command, "--duration", (options->duration_ns + NS_PER_S - 1) / NS_PER_S);
	if (options->fifo_priority)
		add_value(command, "--rtprio", (uint64_t)options->fifo_priority);
	if (strstr(help, "--json"))
		strings_add(command, "--json=" JSON_NAME);
}

int oslat_start(const struct oslat_options *options, struct oslat *ret)
{
	_cleanup_free_ char *help = NULL;
	struct child_options child = {
		.output = ret->output_path,
		.scratch = options->scratch,
		.limit_ns = options->duration_ns + OVERHEAD_NS,
	};
	int err;

	*ret = (struct oslat){ 0 };
	snprintf(ret->json_path, sizeof(ret->json_path), "%s/" JSON_NAME, options->scratch->path);
	snprintf(ret->output_path, sizeof(ret->output_path), "%s/oslat.log",
		 options->scratch->path);
	err = read_help(options->scratch, &help);
	if (err)
		return err;
	ret->version = parse_version(help);
	make_command(options, help, ret);
	child.argv = ret->command.items;
	return child_start(&child, &ret->child);
}

void oslat_read(struct oslat *oslat)
{
	if (text_read(oslat->output_path, TEXT_LIMIT, &oslat->output) < 0)
		oslat->output = NULL;
	if (text_read(oslat->json_path, TEXT_LIMIT, &oslat->json) < 0)
		oslat->json = NULL;
}

#define ERROR_PREFIX "ERROR: "

char *oslat_complaint(const struct oslat *oslat)
{
	const char *best = NULL;
	size_t length;

	/* The last of the lines that begin with ERROR and go on names the cause. */
	for (const char *line = oslat->output; line && *line; line += length + !!line[length]) {
		length = strcspn(line, "\n");
		if (length > strlen(ERROR_PREFIX) &&
		    !strncmp(line, ERROR_PREFIX, strlen(ERROR_PREFIX)))
			best = line + strlen(ERROR_PREFIX);
	}
	return best ? strndup(best, strcspn(best, "\n")) : NULL;
}

void oslat_deinit(struct oslat *oslat)
{
	child_kill(&oslat->child);
	strings_deinit(&oslat->command);
	free(oslat->version);
	free(oslat->output);
	free(oslat->json);
}
