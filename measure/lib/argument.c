/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "argument.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cpulist.h"
#include "units.h"

static bool is_name(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !strncmp(name, text, length);
}

size_t names_find(name_of *name, const char *text, size_t length)
{
	size_t row = 0;

	while (name(row) && !is_name(name(row), text, length))
		row++;
	return row;
}

const char *names_join(name_of *name)
{
	static char names[256];
	size_t used = 0;

	for (size_t row = 0; name(row) && used < sizeof(names); row++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, row ? ", %s" : "%s",
					 name(row));
	return names;
}

int argument_refuse_why(const struct argument *given, char *why)
{
	refuse("--%s '%.100s': %s", given->option->name, given->value, why);
	free(why);
	return -EINVAL;
}

int argument_list(const struct argument *given)
{
	struct cpulist list = { 0 }, *ret = given->field;
	int err = cpulist_parse(given->value, &list);

	if (err == -ERANGE)
		return argument_refuse(given, "a CPU number is above %d; name CPUs of this machine",
				       CPULIST_MAX - 1);
	if (err)
		return argument_refuse(given,
				       "not a CPU list; write numbers and ranges such as 1-3,8");
	cpulist_deinit(ret);
	*ret = list;
	if (list.count)
		return 0;
	return argument_refuse(given, "names no CPU; leave it out, or write a list such as 1-3,8");
}

int argument_time(const struct argument *given)
{
	char low[32], high[32];
	uint64_t *ret = given->field;
	int err = parse_time(given->value, ret);

	if (err == -EINVAL)
		return argument_refuse(given, "not a time; write a whole number with its unit, "
					      "ns, us, ms, s, m or h");
	if (!err && *ret >= given->option->least && *ret <= given->option->most)
		return 0;
	return argument_refuse(given, "out of range; give a time from %s to %s",
			       format_time(given->option->least, low, sizeof(low)),
			       format_time(given->option->most, high, sizeof(high)));
}

int argument_number(const struct argument *given)
{
	uint64_t *ret = given->field;

	if (!parse_u64(given->value, ret) && *ret >= given->option->least &&
	    *ret <= given->option->most)
		return 0;
	return argument_refuse(given,
			       "out of range; give a whole number from %" PRIu64 " to %" PRIu64,
			       given->option->least, given->option->most);
}

int argument_names(const struct argument *given)
{
	const bool all = !strcmp(given->value, "all");
	bool *flags = given->field;
	size_t length, row;

	for (row = 0; all && given->option->rows(row); row++)
		flags[row] = true;
	for (const char *one = given->value; !all; one += length + 1) {
		length = strcspn(one, ",");
		row = names_find(given->option->rows, one, length);
		if (!given->option->rows(row))
			return argument_refuse(given,
					       "'%.*s' is unknown; use all, or some of %s, "
					       "separated by commas",
					       length < 100 ? (int)length : 100, one,
					       names_join(given->option->rows));
		flags[row] = true;
		if (!one[length])
			break;
	}
	return 0;
}

int argument_text(const struct argument *given)
{
	*(const char **)given->field = given->value;
	return 0;
}

int argument_flag(const struct argument *given)
{
	*(bool *)given->field = true;
	return 0;
}

/* Reads one option. Returns the number of arguments used, or refuses (-EINVAL). */
static int parse_one(const struct option *option, char *const argv[], void *ret)
{
	const char *name = argv[0] + 2;
	const size_t length = strcspn(name, "=");
	struct argument given;
	int err, used = 1;

	if (strncmp(argv[0], "--", 2) || !*name)
		return refuse("'%.100s': unexpected argument; see lowlat-measure --help", argv[0]);
	while (option->name && !is_name(option->name, name, length))
		option++;
	if (!option->name)
		return refuse("--%.*s: unknown option; see lowlat-measure --help",
			      length < 100 ? (int)length : 100, name);
	given.option = option;
	given.value = name[length] ? name + length + 1 : option->absent;
	given.field = (char *)ret + option->field;
	if (!option->value_name && given.value)
		return argument_refuse(&given, "takes no value; leave it out");
	if (option->value_name && !name[length] && argv[1] &&
	    (!option->absent || strncmp(argv[1], "--", 2)))
		given.value = argv[used++];
	if (option->value_name && !given.value)
		return refuse("--%s: its value is missing; give %s", option->name,
			      option->value_name);
	if (given.value && !*given.value && option->empty)
		return argument_refuse(&given, "%s", option->empty);
	err = option->read(&given);
	return err ? err : used;
}

int arguments_parse(const struct option *table, int argc, char *const argv[], void *ret)
{
	for (int i = 1, used; i < argc; i += used) {
		used = parse_one(table, argv + i, ret);
		if (used < 0)
			return used;
	}
	return 0;
}

void arguments_help(const struct option *table, FILE *file)
{
	for (const struct option *option = table; option->name; option++) {
		char left[32];

		snprintf(left, sizeof(left), option->absent ? "%s [%s]" : "%s %s", option->name,
			 option->value_name ? option->value_name : "");
		fprintf(file, "  --%-21s%s%s\n", left, option->help,
			option->rows ? names_join(option->rows) : "");
	}
}
