/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "argument.h"
#include "name_table.h"
#include "output.h"
#include "units.h"

#define DURATION_MAX (24 * 3600 * NS_PER_S)
#define WARMUP_MAX (3600 * NS_PER_S)
#define THRESHOLD_MIN 50
#define THROUGHPUT_RUNS 5
#define THROUGHPUT_MAX 1000

enum value_kind {
	VALUE_NONE,
	VALUE_NEEDED,
	VALUE_OPTIONAL,
};

struct option {
	const char *name;
	enum value_kind kind;
	/* Returns 0, or -EINVAL with the message set. NULL: it sets the flag, a bool of the options. */
	int (*set)(struct options *options, const char *value, struct message *message);
	const char *value_name;
	const char *help;
	size_t flag;
	/* Whose names the help ends with. */
	name_of *rows;
};

#define FLAG(member) .flag = offsetof(struct options, member)

static int set_cpus(struct options *options, const char *value, struct message *message)
{
	return argument_list("cpus", value, &options->cpus, message);
}

static int set_load_cpus(struct options *options, const char *value, struct message *message)
{
	options->load_everywhere = strcmp(value, "all") == 0;
	if (options->load_everywhere)
		return 0;
	return argument_list("load-cpus", value, &options->load_cpus, message);
}

static int set_duration(struct options *options, const char *value, struct message *message)
{
	return argument_time("duration", value, NS_PER_MS, DURATION_MAX, &options->duration_ns,
			     message);
}

static int set_warmup(struct options *options, const char *value, struct message *message)
{
	return argument_time("warmup", value, 0, WARMUP_MAX, &options->warmup_ns, message);
}

static int set_threshold(struct options *options, const char *value, struct message *message)
{
	return argument_time("threshold", value, THRESHOLD_MIN, NS_PER_S, &options->threshold_ns,
			     message);
}

static int set_policy(struct options *options, const char *value, struct message *message)
{
	if (policy_parse(value, &options->policy))
		return message_set(
			message,
			"--policy '%.100s': not a scheduling policy; use 'other', 'fifo:N' with N "
			"from 1 to 99, or 'deadline:RUNTIME/PERIOD' such as deadline:5ms/10ms with "
			"a period from 100us to 4s",
			value);
	return 0;
}

static int set_load(struct options *options, const char *value, struct message *message)
{
	options->load = NULL;
	if (strcmp(value, "none") == 0 || strcmp(value, "idle") == 0)
		return 0;
	options->load = load_scenario_find(value);
	if (!options->load)
		return message_set(message,
				   "--load '%.100s': unknown scenario; use one of idle, %s", value,
				   names_join(load_scenario_name));
	return 0;
}

static int set_oslat(struct options *options, const char *value, struct message *message)
{
	(void)value;
	(void)message;
	options->oslat = OSLAT_WANTED;
	return 0;
}

static int set_no_oslat(struct options *options, const char *value, struct message *message)
{
	(void)value;
	(void)message;
	options->oslat = OSLAT_OFF;
	return 0;
}

static int set_opinion(struct options *options, const char *value, struct message *message)
{
	return argument_names("second-opinion", value, options->opinions, opinion_name, message);
}

static int set_work(struct options *options, const char *value, struct message *message)
{
	return argument_names("work", value, options->work, work_name, message);
}

static int set_throughput(struct options *options, const char *value, struct message *message)
{
	options->throughput = THROUGHPUT_RUNS;
	if (value && (parse_u64(value, &options->throughput) || options->throughput < 1 ||
		      options->throughput > THROUGHPUT_MAX))
		return message_set(message,
				   "--throughput '%.100s': out of range; give a number of runs "
				   "from 1 to %d",
				   value, THROUGHPUT_MAX);
	return 0;
}

static int set_label(struct options *options, const char *value, struct message *message)
{
	(void)message;
	options->label = value;
	return 0;
}

static int set_seed(struct options *options, const char *value, struct message *message)
{
	if (parse_u64(value, &options->seed) || options->seed > INT64_MAX)
		return message_set(message,
				   "--seed '%.100s': out of range; give a whole number from 0 to "
				   "%" PRId64,
				   value, INT64_MAX);
	return 0;
}

static int set_json(struct options *options, const char *value, struct message *message)
{
	options->json = value && output_descriptor(value) != STDOUT_FILENO ? value : "-";
	if (!*options->json)
		return message_set(message, "--json '': no file name; give one, or - for standard "
					    "output");
	return 0;
}

static int set_events(struct options *options, const char *value, struct message *message)
{
	options->events = value;
	if (!*value || strcmp(value, "-") == 0 || output_descriptor(value) == STDOUT_FILENO)
		return message_set(message, "--events '%.100s': not a file; give a file name",
				   value);
	return 0;
}

static int set_capture(struct options *options, const char *value, struct message *message)
{
	options->capture = value;
	if (!*value)
		return message_set(message, "--capture '': not a folder; name an empty one");
	return 0;
}

static int set_observer(struct options *options, const char *value, struct message *message)
{
	static const char *const names[] = { "auto", "trace", "switches" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		options->observer = (enum observer)i;
		if (!strcmp(value, names[i]))
			return 0;
	}
	return message_set(message,
			   "--observer '%.100s': not an observer; use auto, trace or switches",
			   value);
}

static const struct option options_table[] = {
	{ "cpus", VALUE_NEEDED, set_cpus, "LIST",
	  .help = "CPUs to measure (default: the isolated ones, else all but the lowest)" },
	{ "duration", VALUE_NEEDED, set_duration, "TIME", .help = "1ms to 24h (default 10s)" },
	{ "warmup", VALUE_NEEDED, set_warmup, "TIME",
	  .help = "how long all runs before anything counts, 0s to 1h (default 5s)" },
	{ "threshold", VALUE_NEEDED, set_threshold, "TIME",
	  .help = "what is longer is a gap, 50ns to 1s (default 100ns)" },
	{ "policy", VALUE_NEEDED, set_policy, "POLICY",
	  .help = "other, fifo:N or deadline:RUNTIME/PERIOD (default other)" },
	{ "load", VALUE_NEEDED, set_load, "SCENARIO",
	  .help = "what stress-ng does meanwhile (default idle): idle, ",
	  .rows = load_scenario_name },
	{ "load-cpus", VALUE_NEEDED, set_load_cpus, "LIST",
	  .help = "where the load runs (default: the CPUs not measured), or all" },
	{ "oslat", VALUE_NONE, set_oslat,
	  .help = "run oslat afterwards (default: where it is installed)" },
	{ "no-oslat", VALUE_NONE, set_no_oslat, .help = "don't run oslat" },
	{ "second-opinion", VALUE_NEEDED, set_opinion, "TOOLS",
	  .help = "run these afterwards, each 30s at most: all, or some of ",
	  .rows = opinion_name },
	{ "work", VALUE_NEEDED, set_work, "KINDS",
	  .help = "time these afterwards, each 10s at most: all, or some of ", .rows = work_name },
	{ "work-alone", VALUE_NONE, .help = "on one CPU after another (default: on all at once)",
	  FLAG(work_alone) },
	{ "throughput", VALUE_OPTIONAL, set_throughput, "N",
	  .help = "then, without load, N runs (default 5) of stress-ng's matrix on the first CPU" },
	{ "emulated", VALUE_NONE,
	  .help = "the CPUs are emulated, so durations mean nothing (on x86 it is seen)",
	  FLAG(emulated) },
	{ "label", VALUE_NEEDED, set_label, "TEXT", .help = "name of the run, kept in the JSON" },
	{ "seed", VALUE_NEEDED, set_seed, "N", .help = "of the load's random numbers (default 1)" },
	{ "json", VALUE_OPTIONAL, set_json, "FILE",
	  .help = "write the result there; alone or -: to stdout" },
	{ "events", VALUE_NEEDED, set_events, "FILE",
	  .help = "write each gap there: cpu,begin,end in ticks of the clock" },
	{ "capture", VALUE_NEEDED, set_capture, "FOLDER",
	  .help = "record there what interrupts the CPUs, for lowlat-gen to join with the gaps" },
	{ "observer", VALUE_NEEDED, set_observer, "KIND",
	  .help = "by the kernel's trace, by the detectors' switches, or auto: as permitted" },
	{ "follow", VALUE_NONE,
	  .help = "tell each second on stdout what happened in it, a line of JSON", FLAG(follow) },
	{ "help", VALUE_NONE, .help = "print this and leave", FLAG(help) },
	{ "version", VALUE_NONE, .help = "print the version and leave", FLAG(version) },
};

#define OPTION_COUNT (sizeof(options_table) / sizeof(*options_table))

static const struct option *find_option(const char *name, size_t length)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (strlen(options_table[i].name) == length &&
		    !strncmp(options_table[i].name, name, length))
			return &options_table[i];
	}
	return NULL;
}

/* Sets one option; *used says how many arguments it took. */
static int parse_one(char *const argv[], struct options *ret, int *used, struct message *message)
{
	const char *name = argv[0] + 2, *value = NULL;
	const size_t length = strcspn(name, "=");
	const struct option *option;

	if (strncmp(argv[0], "--", 2) || !*name)
		return message_set(message,
				   "'%.100s': unexpected argument; see lowlat-measure --help",
				   argv[0]);
	option = find_option(name, length);
	if (!option)
		return message_set(message, "--%.*s: unknown option; see lowlat-measure --help",
				   length < 100 ? (int)length : 100, name);
	*used = 1;
	if (name[length] == '=')
		value = name + length + 1;
	else if (option->kind == VALUE_NEEDED ||
		 (option->kind == VALUE_OPTIONAL && argv[1] && strncmp(argv[1], "--", 2)))
		value = argv[(*used)++];
	if (option->kind == VALUE_NONE && value)
		return message_set(message, "--%s '%.100s': takes no value; leave it out",
				   option->name, value);
	if (option->kind == VALUE_NEEDED && !value)
		return message_set(message, "--%s: its value is missing; give %s", option->name,
				   option->value_name);
	if (option->set)
		return option->set(ret, value, message);
	*(bool *)((char *)ret + option->flag) = true;
	return 0;
}

int options_parse(int argc, char *const argv[], struct options *ret, struct message *message)
{
	*ret = (struct options){
		.duration_ns = 10 * NS_PER_S,
		.warmup_ns = 5 * NS_PER_S,
		.threshold_ns = 100,
		.label = "",
		.seed = 1,
	};
	for (int i = 1, used = 1; i < argc; i += used) {
		int err = parse_one(argv + i, ret, &used, message);

		if (err)
			return err;
	}
	if (ret->json && ret->events && output_same(ret->json, ret->events))
		return message_set(message,
				   "--events '%.100s': the same file as --json; give each its own",
				   ret->events);
	if (ret->follow && ret->json && strcmp(ret->json, "-") == 0)
		return message_set(message, "--follow: writes to standard output as --json does; "
					    "give --json a file");
	return 0;
}

void options_deinit(struct options *options)
{
	cpulist_deinit(&options->cpus);
	cpulist_deinit(&options->load_cpus);
}

void options_help(FILE *file)
{
	fputs("Usage: lowlat-measure [OPTION]...\n\n"
	      "Measures the noise of the operating system on CPUs: pinned threads read the clock\n"
	      "without pause, and each gap between two readings is time that something else took.\n\n",
	      file);
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option *option = &options_table[i];
		char left[32];

		snprintf(left, sizeof(left), option->kind == VALUE_OPTIONAL ? "%s [%s]" : "%s %s",
			 option->name, option->value_name ? option->value_name : "");
		fprintf(file, "  --%-21s%s%s\n", left, option->help,
			option->rows ? names_join(option->rows) : "");
	}
	fputs("\nTimes are whole numbers with a unit: 100ns, 1us, 10ms, 10s, 5m, 1h.\n"
	      "Exit status: 0 complete; 1 partial or invalid; 2 refused; 130 or 143 interrupted.\n",
	      file);
}
