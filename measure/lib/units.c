/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t ns;
};

static const struct unit units[] = {
	{ "ns", 1 },	   { "us", NS_PER_US },	   { "ms", NS_PER_MS },
	{ "s", NS_PER_S }, { "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S },
};

static int parse_digits(const char *text, uint64_t *ret, const char **end)
{
	char *stop;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*ret = strtoull(text, &stop, 10);
	*end = stop;
	return -errno;
}

int parse_u64(const char *text, uint64_t *ret)
{
	const char *end;
	int err = parse_digits(text, ret, &end);

	if (err)
		return err;
	return *end ? -EINVAL : 0;
}

int parse_time(const char *text, uint64_t *ret)
{
	const char *end;
	uint64_t number;
	int err = parse_digits(text, &number, &end);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(end, units[i].name))
			continue;
		return __builtin_mul_overflow(number, units[i].ns, ret) ? -ERANGE : 0;
	}
	return -EINVAL;
}

const char *format_time(uint64_t ns, char *buffer, int size)
{
	size_t best = 0;

	for (size_t i = 1; ns && i < sizeof(units) / sizeof(*units); i++) {
		if (ns % units[i].ns == 0)
			best = i;
	}
	snprintf(buffer, (size_t)size, "%" PRIu64 "%s", ns / units[best].ns, units[best].name);
	return buffer;
}
