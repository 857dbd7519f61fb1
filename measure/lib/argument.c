/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "argument.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "units.h"

size_t names_find(name_of *name, const char *text, size_t length)
{
	size_t row = 0;

	while (name(row) && (strlen(name(row)) != length || strncmp(name(row), text, length) != 0))
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

int argument_list(const char *option, const char *value, struct cpulist *ret,
		  struct message *message)
{
	struct cpulist list;
	int err = cpulist_parse(value, &list);

	if (err == -ERANGE)
		return message_set(
			message,
			"--%s '%.100s': a CPU number is above %d; name CPUs of this machine",
			option, value, CPULIST_MAX - 1);
	if (err)
		return message_set(
			message,
			"--%s '%.100s': not a CPU list; write numbers and ranges such as "
			"1-3,8",
			option, value);
	if (!list.count) {
		cpulist_deinit(&list);
		return message_set(message, "--%s '': names no CPU; write a list such as 1-3,8",
				   option);
	}
	cpulist_deinit(ret);
	*ret = list;
	return 0;
}

int argument_time(const char *option, const char *value, uint64_t least, uint64_t most,
		  uint64_t *ret, struct message *message)
{
	char low[32], high[32];
	int err = parse_time(value, ret);

	if (err == -EINVAL)
		return message_set(
			message,
			"--%s '%.100s': not a time; write a whole number with its unit, ns, "
			"us, ms, s, m or h",
			option, value);
	if (err || *ret < least || *ret > most)
		return message_set(message,
				   "--%s '%.100s': out of range; give a time from %s to %s", option,
				   value, format_time(least, low, sizeof(low)),
				   format_time(most, high, sizeof(high)));
	return 0;
}

int argument_number(const char *option, const char *value, uint64_t least, uint64_t most,
		    uint64_t *ret, struct message *message)
{
	if (!parse_u64(value, ret) && *ret >= least && *ret <= most)
		return 0;
	return message_set(message,
			   "--%s '%.100s': out of range; give a whole number from %" PRIu64
			   " to %" PRIu64,
			   option, value, least, most);
}

int argument_names(const char *option, const char *value, bool *flags, name_of *name,
		   struct message *message)
{
	size_t length;

	if (strcmp(value, "all") == 0) {
		for (size_t row = 0; name(row); row++)
			flags[row] = true;
		return 0;
	}
	for (const char *one = value;; one += length + 1) {
		size_t row;

		length = strcspn(one, ",");
		row = names_find(name, one, length);
		if (!name(row))
			return message_set(message,
					   "--%s '%.100s': '%.*s' is none of them; use all, or "
					   "some of %s with commas between",
					   option, value, length < 100 ? (int)length : 100, one,
					   names_join(name));
		flags[row] = true;
		if (!one[length])
			return 0;
	}
}
