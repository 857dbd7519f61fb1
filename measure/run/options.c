/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "argument.h"
#include "cleanup.h"
#include "output.h"
#include "phases.h"
#include "units.h"

#define FIELD(member) .field = offsetof(struct options, member)

static int set_load_cpus(const struct argument *given)
{
	struct load_cpus *ret = given->field;
	struct argument list = *given;

	list.field = &ret->list;
	ret->all = strcmp(given->value, "all") == 0;
	return ret->all ? 0 : argument_list(&list);
}

static int set_policy(const struct argument *given)
{
	if (!policy_parse(given->value, given->field))
		return 0;
	return argument_refuse(
		given,
		"not a scheduling policy; use 'other', 'fifo:N' or 'rr:N' with N "
		"from 1 to 99, or 'deadline:RUNTIME/PERIOD' such as deadline:5ms/10ms with a "
		"period from 100us to 4s");
}

static int set_load(const struct argument *given)
{
	const struct load_scenario **ret = given->field;

	*ret = load_scenario_find(given->value);
	if (*ret || !strcmp(given->value, "none") || !strcmp(given->value, "idle"))
		return 0;
	return argument_refuse(given, "unknown scenario; use one of idle, %s",
			       names_join(load_scenario_name));
}

static int set_oslat(const struct argument *given)
{
	const bool wanted = strcmp(given->option->name, "oslat") == 0;

	*(enum oslat_choice *)given->field = wanted ? OSLAT_WANTED : OSLAT_OFF;
	return 0;
}

static int set_json(const struct argument *given)
{
	const bool to_stdout = output_descriptor(given->value) == STDOUT_FILENO;

	*(const char **)given->field = to_stdout ? "-" : given->value;
	return 0;
}

static int set_events(const struct argument *given)
{
	if (*given->value && strcmp(given->value, "-") != 0 &&
	    output_descriptor(given->value) != STDOUT_FILENO)
		return argument_text(given);
	return argument_refuse(given, "not a file; give a file name");
}

static int set_observer(const struct argument *given)
{
	static const char *const names[] = { "auto", "trace", "switches" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		*(enum observer *)given->field = (enum observer)i;
		if (!strcmp(given->value, names[i]))
			return 0;
	}
	return argument_refuse(given, "not an observer; use auto, trace or switches");
}

static int set_phases(const struct argument *given)
{
	uint64_t fd;

	if (parse_u64(given->value, &fd) || fd > INT_MAX || phases_open((int)fd))
		return argument_refuse(given, "not the number of a descriptor that is open for "
					      "writing; open one");
	*(int *)given->field = (int)fd;
	return 0;
}

static int set_throughput(const struct argument *given)
{
	const size_t digits = strcspn(given->value, "x");
	_cleanup_free_ char *count = text_format("%.*s", (int)digits, given->value);
	const char *length = given->value[digits] ? given->value + digits + 1 : NULL;
	struct matrix_runs *ret = given->field;

	ret->length_ns = LOAD_THROUGHPUT_NS;
	if (!parse_u64(count, &ret->count) && ret->count >= given->option->least &&
	    ret->count <= given->option->most &&
	    (!length || (!parse_time(length, &ret->length_ns) && ret->length_ns >= NS_PER_S &&
			 ret->length_ns <= 3600 * NS_PER_S)))
		return 0;
	return argument_refuse(given,
			       "out of range; give a number of runs from 1 to 1000, such as 10, "
			       "or with their length from 1s to 1h, such as 10x5m");
}

static const struct option table[] = {
	{ "cpus", "LIST", "CPUs to measure (default: the isolated ones, else all but the lowest)",
	  argument_list, FIELD(cpus) },
	{ "duration", "TIME", "1ms to 24h (default 10s)", argument_time, FIELD(duration_ns),
	  .least = NS_PER_MS, .most = 24 * 3600 * NS_PER_S },
	{ "warmup", "TIME", "run everything this long before counting, 0s to 1h (default 5s)",
	  argument_time, FIELD(warmup_ns), .most = 3600 * NS_PER_S },
	{ "threshold", "TIME", "the shortest gap that counts, 50ns to 1s (default 100ns)",
	  argument_time, FIELD(threshold_ns), .least = 50, .most = NS_PER_S },
	{ "stop-on", "TIME", "end the run at a gap of at least this length, 50ns to 1h",
	  argument_time, FIELD(stop_on_ns), .least = 50, .most = 3600 * NS_PER_S },
	{ "on-gap", "TIME",
	  "write a line \"gap CPU NS\" to --phases within 0.1 s of a gap of at least this length",
	  argument_time, FIELD(on_gap_ns), .least = 50, .most = 3600 * NS_PER_S },
	{ "policy", "POLICY", "other, fifo:N, rr:N or deadline:RUNTIME/PERIOD (default other)",
	  set_policy, FIELD(policy) },
	{ "load", "SCENARIO", "load by stress-ng during the run (default idle): idle, ", set_load,
	  FIELD(load), .rows = load_scenario_name },
	{ "load-cpus", "LIST|all", "CPUs for the load (default: those not measured)", set_load_cpus,
	  FIELD(load_cpus) },
	{ "group", "FOLDER",
	  "measure inside this control group (v2), which owns the CPUs; the load stays outside",
	  argument_text, FIELD(group), .empty = "not a folder; name that of a control group" },
	{ "oslat", NULL, "run oslat afterwards (default: if installed)", set_oslat, FIELD(oslat) },
	{ "no-oslat", NULL, "don't run oslat", set_oslat, FIELD(oslat) },
	{ "second-opinion", "TOOLS",
	  "run these tools afterwards, at most 30s each: all, or some of ", argument_names,
	  FIELD(opinions), .rows = opinion_name },
	{ "work", "KINDS", "time this work afterwards, at most 10s each: all, or some of ",
	  argument_names, FIELD(work), .rows = work_name },
	{ "work-alone", NULL, "time work on one CPU after another (default: on all at once)",
	  argument_flag, FIELD(work_alone) },
	{ "work-mixed", NULL, "time a different kind of work on each CPU, in turns", argument_flag,
	  FIELD(work_mixed) },
	{ "wakeup", "INTERVAL",
	  "then measure wake-up latency on a schedule, 50us to 1s (default 1ms)", argument_time,
	  FIELD(wakeup_ns), .absent = "1ms", .least = 50 * NS_PER_US, .most = NS_PER_S },
	{ "throughput", "RUNS",
	  "then run stress-ng's matrix without load: for 2s each (default 10), or such as 10x5m",
	  set_throughput, FIELD(throughput), .absent = "10", .least = 1, .most = 1000 },
	{ "emulated", NULL, "the CPUs are emulated: durations mean nothing (detected on x86)",
	  argument_flag, FIELD(emulated) },
	{ "label", "TEXT", "name of the run, kept in the JSON", argument_text, FIELD(label),
	  .empty = "not a name; leave it out, or name the run" },
	{ "seed", "N", "seed of the load's random numbers (default 1)", argument_number,
	  FIELD(seed), .most = INT64_MAX },
	{ "json", "FILE", "write the result to FILE; without FILE, or with -, to stdout", set_json,
	  FIELD(json), .absent = "-", .empty = "no file name; give one, or - for standard output" },
	{ "events", "FILE", "write each gap to FILE as cpu,begin,end in ticks of the clock",
	  set_events, FIELD(events) },
	{ "capture", "FOLDER",
	  "record interruptions of the CPUs in FOLDER, for lowlat-gen to join with the gaps",
	  argument_text, FIELD(capture), .empty = "not a folder; name an empty one" },
	{ "observer", "KIND",
	  "trace (the kernel's), switches (of the detectors), or auto (as permitted)", set_observer,
	  FIELD(observer) },
	{ "follow", NULL, "print the figures of each second on stdout, one line of JSON",
	  argument_flag, FIELD(follow) },
	{ "phases", "FD",
	  "write a line as each phase begins to this open descriptor, whose reader the run needs",
	  set_phases, FIELD(phases) },
	{ "check", NULL, "print the CPUs that the run would use, or refuse as it would, and exit",
	  argument_flag, FIELD(check) },
	{ "tools", NULL, "print what is known of each tool as JSON, and exit", argument_flag,
	  FIELD(tools) },
	{ "help", NULL, "print this help and exit", argument_flag, FIELD(help) },
	{ "version", NULL, "print the version and exit", argument_flag, FIELD(version) },
	{ .name = NULL },
};

int options_parse(int argc, char *const argv[], struct options *ret)
{
	*ret = (struct options){
		.duration_ns = 10 * NS_PER_S,
		.warmup_ns = 5 * NS_PER_S,
		.threshold_ns = 100,
		.label = "",
		.seed = 1,
		.phases = -1,
	};
	if (arguments_parse(table, argc, argv, ret))
		return -EINVAL;
	if ((ret->work_alone || ret->work_mixed) && !memchr(ret->work, 1, sizeof(ret->work)))
		return refuse("--work-%s: there is no work; add --work all, or leave it out",
			      ret->work_alone ? "alone" : "mixed");
	if (ret->work_alone && ret->work_mixed)
		return refuse("--work-mixed: needs all CPUs at once; leave --work-alone out");
	if (ret->json && ret->events && output_same(ret->json, ret->events))
		return refuse("--events '%.100s': the same file as --json; give each its own",
			      ret->events);
	if (ret->follow && ret->json && strcmp(ret->json, "-") == 0)
		return refuse("--follow: writes to standard output as --json does; give --json a "
			      "file");
	if (ret->on_gap_ns && ret->follow)
		return refuse("--on-gap: --follow tells the longest gap of each second; leave one "
			      "of them out");
	if (ret->phases == STDOUT_FILENO &&
	    (ret->follow || (ret->json && strcmp(ret->json, "-") == 0)))
		return refuse("--phases 1: standard output holds the figures; give another "
			      "descriptor");
	return 0;
}

void options_deinit(struct options *options)
{
	cpulist_deinit(&options->cpus);
	cpulist_deinit(&options->load_cpus.list);
}

void options_help(FILE *file)
{
	fputs("Usage: lowlat-measure [OPTION]...\n\n"
	      "Measures the noise of the operating system on CPUs: pinned threads read the clock\n"
	      "without pause, and each gap between two readings is time that something else took.\n\n",
	      file);
	arguments_help(table, file);
	fputs("\nTimes are whole numbers with a unit: 100ns, 1us, 10ms, 10s, 5m, 1h.\n"
	      "Exit status: 0 complete; 1 partial or invalid; 2 refused; 130 or 143 interrupted.\n",
	      file);
}
