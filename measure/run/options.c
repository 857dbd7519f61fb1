/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "argument.h"
#include "output.h"
#include "units.h"

/* Whether an option has a value, and of which kind: those with a setter read it themselves. */
enum value_kind {
	VALUE_NONE,
	VALUE_OWN,
	VALUE_TEXT,
	VALUE_LIST,
	VALUE_TIME,
	VALUE_NUMBER,
	VALUE_NAMES,
};

struct option {
	const char *name;
	enum value_kind kind;
	const char *value_name;
	const char *help;
	/* Returns 0, or -EINVAL with the message set. */
	int (*set)(struct options *options, const char *value, struct message *message);
	/* Where in the options the value goes; a bool where there is none. */
	size_t field;
	/* The value that none stands for; NULL: it needs one. */
	const char *absent;
	/* What to say of an empty one; NULL: it may be. */
	const char *empty;
	/* Of a number, and of a time in ns. */
	uint64_t least, most;
	/* What one without a value chooses, where it is no bool. */
	enum oslat_choice choice;
	/* The names it takes: its help ends with them. */
	name_of *rows;
};

#define FIELD(member) .field = offsetof(struct options, member)

static int set_load_cpus(struct options *options, const char *value, struct message *message)
{
	options->load_everywhere = strcmp(value, "all") == 0;
	if (options->load_everywhere)
		return 0;
	return argument_list("load-cpus", value, &options->load_cpus, message);
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

static int set_json(struct options *options, const char *value, struct message *message)
{
	(void)message;
	options->json = output_descriptor(value) != STDOUT_FILENO ? value : "-";
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
	{ "cpus", VALUE_LIST, "LIST",
	  "CPUs to measure (default: the isolated ones, else all but the lowest)", FIELD(cpus) },
	{ "duration", VALUE_TIME, "TIME", "1ms to 24h (default 10s)", FIELD(duration_ns),
	  .least = NS_PER_MS, .most = 24 * 3600 * NS_PER_S },
	{ "warmup", VALUE_TIME, "TIME",
	  "how long all runs before anything counts, 0s to 1h (default 5s)", FIELD(warmup_ns),
	  .most = 3600 * NS_PER_S },
	{ "threshold", VALUE_TIME, "TIME", "what is longer is a gap, 50ns to 1s (default 100ns)",
	  FIELD(threshold_ns), .least = 50, .most = NS_PER_S },
	{ "policy", VALUE_OWN, "POLICY", "other, fifo:N or deadline:RUNTIME/PERIOD (default other)",
	  .set = set_policy },
	{ "load", VALUE_OWN, "SCENARIO", "what stress-ng does meanwhile (default idle): idle, ",
	  .set = set_load, .rows = load_scenario_name },
	{ "load-cpus", VALUE_OWN, "LIST",
	  "where the load runs (default: the CPUs not measured), or all", .set = set_load_cpus },
	{ "oslat", VALUE_NONE, NULL, "run oslat afterwards (default: where it is installed)",
	  FIELD(oslat), .choice = OSLAT_WANTED },
	{ "no-oslat", VALUE_NONE, NULL, "don't run oslat", FIELD(oslat), .choice = OSLAT_OFF },
	{ "second-opinion", VALUE_NAMES, "TOOLS",
	  "run these afterwards, each 30s at most: all, or some of ", FIELD(opinions),
	  .rows = opinion_name },
	{ "work", VALUE_NAMES, "KINDS", "time these afterwards, each 10s at most: all, or some of ",
	  FIELD(work), .rows = work_name },
	{ "work-alone", VALUE_NONE, NULL, "on one CPU after another (default: on all at once)",
	  FIELD(work_alone) },
	{ "throughput", VALUE_NUMBER, "N",
	  "then, without load, N runs (default 5) of stress-ng's matrix on the first CPU",
	  FIELD(throughput), .absent = "5", .least = 1, .most = 1000 },
	{ "emulated", VALUE_NONE, NULL,
	  "the CPUs are emulated, so durations mean nothing (on x86 it is seen)", FIELD(emulated) },
	{ "label", VALUE_TEXT, "TEXT", "name of the run, kept in the JSON", FIELD(label) },
	{ "seed", VALUE_NUMBER, "N", "of the load's random numbers (default 1)", FIELD(seed),
	  .most = INT64_MAX },
	{ "json", VALUE_OWN, "FILE", "write the result there; alone or -: to stdout",
	  .set = set_json, .absent = "-",
	  .empty = "no file name; give one, or - for standard output" },
	{ "events", VALUE_OWN, "FILE", "write each gap there: cpu,begin,end in ticks of the clock",
	  .set = set_events },
	{ "capture", VALUE_TEXT, "FOLDER",
	  "record there what interrupts the CPUs, for lowlat-gen to join with the gaps",
	  FIELD(capture), .empty = "not a folder; name an empty one" },
	{ "observer", VALUE_OWN, "KIND",
	  "by the kernel's trace, by the detectors' switches, or auto: as permitted",
	  .set = set_observer },
	{ "follow", VALUE_NONE, NULL,
	  "tell each second on stdout what happened in it, a line of JSON", FIELD(follow) },
	{ "help", VALUE_NONE, NULL, "print this and leave", FIELD(help) },
	{ "version", VALUE_NONE, NULL, "print the version and leave", FIELD(version) },
};

#define OPTION_COUNT (sizeof(options_table) / sizeof(*options_table))

static const char *option_name(size_t row)
{
	return row < OPTION_COUNT ? options_table[row].name : NULL;
}

static int keep(const struct option *option, struct options *options, const char *value,
		struct message *message)
{
	void *field = (char *)options + option->field;

	if (option->set)
		return option->set(options, value, message);
	if (option->kind == VALUE_LIST)
		return argument_list(option->name, value, field, message);
	if (option->kind == VALUE_TIME)
		return argument_time(option->name, value, option->least, option->most, field,
				     message);
	if (option->kind == VALUE_NUMBER)
		return argument_number(option->name, value, option->least, option->most, field,
				       message);
	if (option->kind == VALUE_NAMES)
		return argument_names(option->name, value, field, option->rows, message);
	if (option->kind == VALUE_TEXT)
		*(const char **)field = value;
	else if (option->choice)
		*(enum oslat_choice *)field = option->choice;
	else
		*(bool *)field = true;
	return 0;
}

/* Sets one option; *used says how many arguments it took. */
static int parse_one(char *const argv[], struct options *ret, int *used, struct message *message)
{
	const char *name = argv[0] + 2, *value = NULL;
	const size_t length = strcspn(name, "=");
	const struct option *option;
	size_t row;

	if (strncmp(argv[0], "--", 2) || !*name)
		return message_set(message,
				   "'%.100s': unexpected argument; see lowlat-measure --help",
				   argv[0]);
	row = names_find(option_name, name, length);
	if (row == OPTION_COUNT)
		return message_set(message, "--%.*s: unknown option; see lowlat-measure --help",
				   length < 100 ? (int)length : 100, name);
	option = &options_table[row];
	*used = 1;
	if (name[length] == '=')
		value = name + length + 1;
	else if (option->kind && argv[1] && (!option->absent || strncmp(argv[1], "--", 2)))
		value = argv[(*used)++];
	else
		value = option->absent;
	if (option->kind == VALUE_NONE && value)
		return message_set(message, "--%s '%.100s': takes no value; leave it out",
				   option->name, value);
	if (option->kind != VALUE_NONE && !value)
		return message_set(message, "--%s: its value is missing; give %s", option->name,
				   option->value_name);
	if (value && !*value && option->empty)
		return message_set(message, "--%s '': %s", option->name, option->empty);
	return keep(option, ret, value, message);
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

		snprintf(left, sizeof(left), option->absent ? "%s [%s]" : "%s %s", option->name,
			 option->value_name ? option->value_name : "");
		fprintf(file, "  --%-21s%s%s\n", left, option->help,
			option->rows ? names_join(option->rows) : "");
	}
	fputs("\nTimes are whole numbers with a unit: 100ns, 1us, 10ms, 10s, 5m, 1h.\n"
	      "Exit status: 0 complete; 1 partial or invalid; 2 refused; 130 or 143 interrupted.\n",
	      file);
}
