/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"

typedef unsigned char cpu_flags[CPULIST_MAX];

static int from_flags(const cpu_flags flags, struct cpulist *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < CPULIST_MAX; i++)
		count += flags[i];
	*ret = (struct cpulist){ .cpus = calloc(count + 1, sizeof(*ret->cpus)) };
	if (!ret->cpus)
		return -ENOMEM;
	for (unsigned int i = 0; i < CPULIST_MAX; i++) {
		if (flags[i])
			ret->cpus[ret->count++] = i;
	}
	return 0;
}

static int parse_cpu(const char **text, unsigned long *ret)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return -EINVAL;
	errno = 0;
	*ret = strtoul(*text, &end, 10);
	*text = end;
	return errno || *ret >= CPULIST_MAX ? -ERANGE : 0;
}

static int parse_range(const char **text, cpu_flags flags)
{
	unsigned long first, last;
	int err = parse_cpu(text, &first);

	if (err)
		return err;
	last = first;
	if (**text == '-') {
		(*text)++;
		err = parse_cpu(text, &last);
	}
	if (err || last < first)
		return err ? err : -EINVAL;
	memset(flags + first, 1, last - first + 1);
	return 0;
}

int cpulist_parse(const char *text, struct cpulist *ret)
{
	_cleanup_free_ unsigned char *flags = calloc(1, sizeof(cpu_flags));
	size_t blank = strspn(text, " \t\n");
	int err;

	if (!flags)
		return -ENOMEM;
	while (text[blank]) {
		err = parse_range(&text, flags);
		if (err)
			return err;
		blank = strspn(text, " \t\n");
		if (!text[blank])
			break;
		if (*text++ != ',' || !isdigit((unsigned char)*text))
			return -EINVAL;
		blank = 0;
	}
	return from_flags(flags, ret);
}

void cpulist_deinit(struct cpulist *list)
{
	free(list->cpus);
	*list = (struct cpulist){ 0 };
}

char *cpulist_format(const struct cpulist *list)
{
	const size_t size = list->count * 12 + 1;
	char *text = calloc(1, size);
	size_t used = 0;

	for (size_t i = 0, last; text && i < list->count; i = last + 1) {
		for (last = i; last + 1 < list->count; last++) {
			if (list->cpus[last + 1] != list->cpus[last] + 1)
				break;
		}
		used += (size_t)snprintf(text + used, size - used, i ? ",%u" : "%u", list->cpus[i]);
		if (last > i)
			used += (size_t)snprintf(text + used, size - used, "-%u", list->cpus[last]);
	}
	return text;
}

bool cpulist_has(const struct cpulist *list, unsigned int cpu)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->cpus[i] == cpu)
			return true;
	}
	return false;
}

bool cpulist_covers(const struct cpulist *whole, const struct cpulist *part)
{
	for (size_t i = 0; i < part->count; i++) {
		if (!cpulist_has(whole, part->cpus[i]))
			return false;
	}
	return true;
}

static int keep_where(const struct cpulist *a, const struct cpulist *b, bool in_b,
		      struct cpulist *ret)
{
	*ret = (struct cpulist){ .cpus = calloc(a->count + 1, sizeof(*ret->cpus)) };
	if (!ret->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < a->count; i++) {
		if (cpulist_has(b, a->cpus[i]) == in_b)
			ret->cpus[ret->count++] = a->cpus[i];
	}
	return 0;
}

int cpulist_copy(const struct cpulist *list, struct cpulist *ret)
{
	return keep_where(list, list, true, ret);
}

int cpulist_minus(const struct cpulist *a, const struct cpulist *b, struct cpulist *ret)
{
	return keep_where(a, b, false, ret);
}

int cpulist_and(const struct cpulist *a, const struct cpulist *b, struct cpulist *ret)
{
	return keep_where(a, b, true, ret);
}

int cpulist_allowed(struct cpulist *ret)
{
	const size_t size = CPU_ALLOC_SIZE(CPULIST_MAX);
	_cleanup_free_ unsigned char *flags = calloc(1, sizeof(cpu_flags));
	_cleanup_free_ cpu_set_t *set = CPU_ALLOC(CPULIST_MAX);

	if (!set || !flags)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	if (sched_getaffinity(0, size, set))
		return -errno;
	for (size_t i = 0; i < CPULIST_MAX; i++)
		flags[i] = CPU_ISSET_S(i, size, set) != 0;
	return from_flags(flags, ret);
}

int cpulist_bind(const struct cpulist *list)
{
	const size_t size = CPU_ALLOC_SIZE(CPULIST_MAX);
	_cleanup_free_ cpu_set_t *set = CPU_ALLOC(CPULIST_MAX);

	if (!set)
		return -ENOMEM;
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < list->count; i++)
		CPU_SET_S(list->cpus[i], size, set);
	return sched_setaffinity(0, size, set) ? -errno : 0;
}
