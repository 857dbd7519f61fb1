/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

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
	/* Returns 0, or -EINVAL with the message set. */
	int (*set)(struct options *options, const char *value, struct message *message);
	const char *value_name;
	const char *help;
};

static int set_list(const char *name, const char *value, struct cpulist *ret,
		    struct message *message)
{
	struct cpulist list;
	int err = cpulist_parse(value, &list);

	if (err == -ERANGE)
		return message_set(
			message,
			"--%s '%.100s': a CPU number is above %d; name CPUs of this machine", name,
			value, CPULIST_MAX - 1);
	if (err)
		return message_set(
			message,
			"--%s '%.100s': not a CPU list; write numbers and ranges such as "
			"1-3,8",
			name, value);
	if (!list.count) {
		cpulist_deinit(&list);
		return message_set(message, "--%s '': names no CPU; write a list such as 1-3,8",
				   name);
	}
	cpulist_deinit(ret);
	*ret = list;
	return 0;
}

static int set_cpus(struct options *options, const char *value, struct message *message)
{
	return set_list("cpus", value, &options->cpus, message);
}

static int set_load_cpus(struct options *options, const char *value, struct message *message)
{
	options->load_everywhere = strcmp(value, "all") == 0;
	if (options->load_everywhere)
		return 0;
	return set_list("load-cpus", value, &options->load_cpus, message);
}

static int set_time(const char *name, const char *value, uint64_t least, uint64_t most,
		    uint64_t *ret, struct message *message)
{
	char low[32], high[32];
	int err = parse_time(value, ret);

	if (err == -EINVAL)
		return message_set(
			message,
			"--%s '%.100s': not a time; write a whole number with its unit, ns, "
			"us, ms, s, m or h",
			name, value);
	if (err || *ret < least || *ret > most)
		return message_set(message,
				   "--%s '%.100s': out of range; give a time from %s to %s", name,
				   value, format_time(least, low, sizeof(low)),
				   format_time(most, high, sizeof(high)));
	return 0;
}

static int set_duration(struct options *options, const char *value, struct message *message)
{
	return set_time("duration", value, NS_PER_MS, DURATION_MAX, &options->duration_ns, message);
}

static int set_warmup(struct options *options, const char *value, struct message *message)
{
	return set_time("warmup", value, 0, WARMUP_MAX, &options->warmup_ns, message);
}

static int set_threshold(struct options *options, const char *value, struct message *message)
{
	return set_time("threshold", value, THRESHOLD_MIN, NS_PER_S, &options->threshold_ns,
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
				   load_scenario_names());
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

/* Sets one of `flags` for each of the names, which commas part; all of them for "all". */
static int set_names(const char *option, const char *value, bool *flags, size_t count,
		     size_t (*find)(const char *name, size_t length), const char *names,
		     struct message *message)
{
	size_t length;

	if (strcmp(value, "all") == 0) {
		memset(flags, true, count * sizeof(*flags));
		return 0;
	}
	for (const char *name = value;; name += length + 1) {
		size_t index;

		length = strcspn(name, ",");
		index = find(name, length);
		if (index >= count)
			return message_set(message,
					   "--%s '%.100s': '%.*s' is none of them; use all, or "
					   "some of %s with commas between",
					   option, value, length < 100 ? (int)length : 100, name,
					   names);
		flags[index] = true;
		if (!name[length])
			return 0;
	}
}

static int set_opinion(struct options *options, const char *value, struct message *message)
{
	return set_names("second-opinion", value, options->opinions, OPINION_TOOLS, opinion_find,
			 opinion_names(), message);
}

static int set_work(struct options *options, const char *value, struct message *message)
{
	return set_names("work", value, options->work, WORK_KINDS, work_find, work_names(),
			 message);
}

static int set_work_alone(struct options *options, const char *value, struct message *message)
{
	(void)value;
	(void)message;
	options->work_alone = true;
	return 0;
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

static int set_emulated(struct options *options, const char *value, struct message *message)
{
	(void)value;
	(void)message;
	options->emulated = true;
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

static int set_follow(struct options *options, const char *value, struct message *message)
{
	(void)value;
	(void)message;
	options->follow = true;
	return 0;
}

static int set_help(struct options *options, const char *value, struct message *message)
{
	(void)value;
	(void)message;
	options->help = true;
	return 0;
}

static int set_version(struct options *options, const char *value, struct message *message)
{
	(void)value;
	(void)message;
	options->version = true;
	return 0;
}

static const struct option options_table[] = {
	{ "cpus", VALUE_NEEDED, set_cpus, "LIST",
	  "CPUs to measure (default: the isolated ones, else all but the lowest)" },
	{ "duration", VALUE_NEEDED, set_duration, "TIME", "1ms to 24h (default 10s)" },
	{ "warmup", VALUE_NEEDED, set_warmup, "TIME",
	  "how long all runs before anything counts, 0s to 1h (default 5s)" },
	{ "threshold", VALUE_NEEDED, set_threshold, "TIME",
	  "what is longer is a gap, 50ns to 1s (default 100ns)" },
	{ "policy", VALUE_NEEDED, set_policy, "POLICY",
	  "other, fifo:N or deadline:RUNTIME/PERIOD (default other)" },
	{ "load", VALUE_NEEDED, set_load, "SCENARIO",
	  "what stress-ng does meanwhile (default idle): idle, " },
	{ "load-cpus", VALUE_NEEDED, set_load_cpus, "LIST",
	  "where the load runs (default: the CPUs not measured), or all" },
	{ "oslat", VALUE_NONE, set_oslat, NULL,
	  "run oslat afterwards (default: where it is installed)" },
	{ "no-oslat", VALUE_NONE, set_no_oslat, NULL, "don't run oslat" },
	{ "second-opinion", VALUE_NEEDED, set_opinion, "TOOLS",
	  "run these afterwards, each 30s at most: all, or some of " },
	{ "work", VALUE_NEEDED, set_work, "KINDS",
	  "time these afterwards, each 10s at most: all, or some of " },
	{ "work-alone", VALUE_NONE, set_work_alone, NULL,
	  "on one CPU after another (default: on all at once)" },
	{ "throughput", VALUE_OPTIONAL, set_throughput, "N",
	  "then, without load, N runs (default 5) of stress-ng's matrix on the first CPU" },
	{ "emulated", VALUE_NONE, set_emulated, NULL,
	  "the CPUs are emulated, so durations mean nothing (on x86 it is seen)" },
	{ "label", VALUE_NEEDED, set_label, "TEXT", "name of the run, kept in the JSON" },
	{ "seed", VALUE_NEEDED, set_seed, "N", "of the load's random numbers (default 1)" },
	{ "json", VALUE_OPTIONAL, set_json, "FILE",
	  "write the result there; alone or -: to stdout" },
	{ "events", VALUE_NEEDED, set_events, "FILE",
	  "write each gap there: cpu,begin,end in ticks of the clock" },
	{ "capture", VALUE_NEEDED, set_capture, "FOLDER",
	  "record there what interrupts the CPUs, for lowlat-gen to join with the gaps" },
	{ "observer", VALUE_NEEDED, set_observer, "KIND",
	  "by the kernel's trace, by the detectors' switches, or auto: as permitted" },
	{ "follow", VALUE_NONE, set_follow, NULL,
	  "tell each second on stdout what happened in it, a line of JSON" },
	{ "help", VALUE_NONE, set_help, NULL, "print this and leave" },
	{ "version", VALUE_NONE, set_version, NULL, "print the version and leave" },
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
	return option->set(ret, value, message);
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

static const char *names_of(const struct option *option)
{
	if (option->set == set_load)
		return load_scenario_names();
	if (option->set == set_opinion)
		return opinion_names();
	return option->set == set_work ? work_names() : "";
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
		fprintf(file, "  --%-21s%s%s\n", left, option->help, names_of(option));
	}
	fputs("\nTimes are whole numbers with a unit: 100ns, 1us, 10ms, 10s, 5m, 1h.\n"
	      "Exit status: 0 complete; 1 partial or invalid; 2 refused; 130 or 143 interrupted.\n",
	      file);
}
