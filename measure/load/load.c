/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cleanup.h"
#include "units.h"
#include "xalloc.h"

#define METRICS "load-%zu.yaml"
#define INSTANCES_MAX 8
/* Above the usual ports of services, below the kernel's ephemeral ports. */
#define FIRST_PORT 20000
#define PORTS_PER_PART 64
#define PORT_PARTS 180
/* The start of net.ipv4.ip_local_port_range. */
#define EPHEMERAL 32768
/* A load that exhausts memory asks for this many times its limit. */
#define EXCESS 4

static int ask(const struct scratch *scratch, char *option, char **ret)
{
	int err = child_ask((char *[]){ "stress-ng", option, NULL }, scratch, ret);

	return err || *ret ? err : -EPROTO;
}

int load_tool_init(const struct scratch *scratch, struct load_tool *ret)
{
	_cleanup_free_ char *text = NULL;
	int err = ask(scratch, "--version", &text);

	*ret = (struct load_tool){ 0 };
	if (!err)
		err = ask(scratch, "--help", &ret->help);
	if (!err) {
		ret->version = text_word_after(text, "version ", " \t\n");
		err = ret->version ? 0 : -EPROTO;
	}
	return err;
}

void load_tool_deinit(struct load_tool *tool)
{
	free(tool->version);
	free(tool->help);
	*tool = (struct load_tool){ 0 };
}

bool load_tool_knows(const struct load_tool *tool, const char *name)
{
	static const char in_names[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	const size_t length = strlen(name);

	for (const char *c = strstr(tool->help, "--"); c; c = strstr(c + 2, "--")) {
		if (strspn(c + 2, in_names) == length && !strncmp(c + 2, name, length))
			return true;
	}
	return false;
}

size_t load_split(const struct cpulist *cpus, const struct cpulist *isolated, struct cpulist **ret)
{
	struct cpulist *parts = xcalloc(cpus->count + 1, sizeof(*parts));
	size_t used = 0;

	parts[0] = cpulist_minus(cpus, isolated);
	if (parts[0].count)
		used++;
	else
		cpulist_deinit(&parts[0]);
	for (size_t i = 0; i < cpus->count; i++) {
		const struct cpulist one = { .cpus = &cpus->cpus[i], .count = 1 };

		if (cpulist_has(isolated, cpus->cpus[i]))
			parts[used++] = cpulist_copy(&one);
	}
	*ret = parts;
	return used;
}

static uint64_t share_of(const struct load_options *options, enum load_share share)
{
	const struct load_scenario *scenario = options->scenario;
	uint64_t sharers = 0;

	for (const struct stressor *s = scenario->stressors; s->name; s++)
		sharers += s->share == share;
	if (share == SHARE_DISK)
		return options->disk / sharers;
	return options->memory / sharers * (scenario->exhausts ? EXCESS : 1);
}

static bool is_free(int type, unsigned int port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons((uint16_t)port) };
	_cleanup_close_ int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	const int on = 1;

	/* A TCP port in TIME_WAIT counts as free; a UDP port cannot be shared. */
	if (type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

uint16_t ports_find(uint16_t first, uint16_t count)
{
	unsigned int begin = first, port = first;

	while (port < begin + count && port < EPHEMERAL) {
		const bool usable = is_free(SOCK_STREAM, port) && is_free(SOCK_DGRAM, port);

		port++;
		if (!usable)
			begin = port;
	}
	return port == begin + count ? (uint16_t)begin : first;
}

/* Each part and each kind of worker gets free ports of its own, the same in every run. */
static void add_stressor(const struct load_options *options, const struct stressor *stressor,
			 uint16_t *port, struct strings *command)
{
	/* Starving workers wait for the disk, so their number does not follow the CPUs. */
	const size_t workers = options->scenario->starves ? INSTANCES_MAX : options->cpus->count;

	strings_add_words(command, "--%s %zu %s", stressor->name,
			  workers < INSTANCES_MAX ? workers : INSTANCES_MAX,
			  stressor->fixed ? stressor->fixed : "");
	if (stressor->port_option) {
		*port = ports_find(*port, INSTANCES_MAX);
		strings_add_words(command, "%s %u", stressor->port_option, *port);
		*port = (uint16_t)(*port + INSTANCES_MAX);
	}
	/* stress-ng itself divides this by the number of instances. */
	if (stressor->bytes_option)
		strings_add_words(command, "%s %" PRIu64, stressor->bytes_option,
				  share_of(options, stressor->share));
}

static void add_stressors(const struct load_options *options, struct load *load)
{
	uint16_t port = (uint16_t)(FIRST_PORT + options->part % PORT_PARTS * PORTS_PER_PART);

	for (const struct stressor *s = options->scenario->stressors; s->name; s++) {
		if (load_tool_knows(options->tool, s->name))
			add_stressor(options, s, &port, &load->command);
		else
			strings_add(&load->missing, "%s", s->name);
	}
}

/*
 * The seed comes first: after a stressor, 0.15 takes it for an option of that stressor. Paths are
 * relative to the private folder, so that equal loads have equal commands.
 */
static void make_command(const struct load_options *options, struct load *load)
{
	struct strings *command = &load->command;

	strings_add_words(command,
			  "stress-ng --seed %" PRIu64 " --timeout %" PRIu64
			  "s --temp-path . --metrics --yaml " METRICS,
			  (options->seed + options->part) & INT64_MAX,
			  options->limit_ns / NS_PER_S + 1, options->part);
	if (!options->scenario->exhausts && options->memory &&
	    load_tool_knows(options->tool, "oom-avoid"))
		strings_add(command, "--oom-avoid");
	add_stressors(options, load);
}

int load_start(const struct load_options *options, struct load *ret)
{
	_cleanup_free_ char *output = text_format("load-%zu.log", options->part);
	_cleanup_free_ char *file = text_format(METRICS, options->part);
	struct child_options child = {
		.cpus = options->cpus,
		.confined = options->confined,
		.output = output,
		.file = file,
		.scratch = options->scratch,
		.group = options->group,
		.limit_ns = options->limit_ns + 30 * NS_PER_S,
		.file_limit = options->disk > CHILD_FILE_MAX ? options->disk : 0,
	};
	int err;

	*ret = (struct load){ .scenario = options->scenario };
	make_command(options, ret);
	child.argv = ret->command.items;
	err = child_start(&child, &ret->child);
	if (err)
		load_deinit(ret);
	return err;
}

/* The stressor's first rate; later versions append instances with the same keys. */
double load_rate(const struct load *load)
{
	const char *rate = text_after(text_after(load->child.file, "- stressor:"),
				      "bogo-ops-per-second-real-time:");

	return rate ? strtod(rate, NULL) : 0;
}

char *load_complaint(const struct load *load)
{
	const char *mark = text_after(load->child.output, "fail:");

	if (!mark)
		return NULL;
	mark += strspn(mark, " \t");
	/* "[1234] " is the worker. */
	if (*mark == '[')
		mark += strcspn(mark, " \n");
	mark += strspn(mark, " \t");
	return xstrndup(mark, strcspn(mark, "\n"));
}

void load_deinit(struct load *load)
{
	child_deinit(&load->child);
	strings_deinit(&load->command);
	strings_deinit(&load->missing);
}
