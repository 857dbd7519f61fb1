/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpulist.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "xalloc.h"

static struct cpulist from_set(const cpulist_set set)
{
	const size_t count = (size_t)CPU_COUNT_S(sizeof(cpulist_set), set);
	struct cpulist list = { .cpus = xcalloc(count, sizeof(*list.cpus)) };

	for (unsigned int i = 0; list.count < count; i++) {
		if (CPU_ISSET_S(i, sizeof(cpulist_set), set))
			list.cpus[list.count++] = i;
	}
	return list;
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

static int parse_range(const char **text, cpulist_set set)
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
	for (; first <= last; first++)
		CPU_SET_S(first, sizeof(cpulist_set), set);
	return 0;
}

int cpulist_parse(const char *text, struct cpulist *ret)
{
	cpulist_set set = { 0 };
	size_t blank = strspn(text, " \t\n");
	int err;

	while (text[blank]) {
		err = parse_range(&text, set);
		if (err)
			return err;
		blank = strspn(text, " \t\n");
		if (!text[blank])
			break;
		if (*text++ != ',' || !isdigit((unsigned char)*text))
			return -EINVAL;
		blank = 0;
	}
	*ret = from_set(set);
	return 0;
}

void cpulist_deinit(struct cpulist *list)
{
	free(list->cpus);
	*list = (struct cpulist){ 0 };
}

char *cpulist_format(const struct cpulist *list)
{
	const size_t size = list->count * 12 + 1;
	char *text = xcalloc(1, size);
	size_t used = 0;

	for (size_t i = 0, last; i < list->count; i = last + 1) {
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

int cpulist_index(const struct cpulist *list, unsigned long cpu)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->cpus[i] == cpu)
			return (int)i;
	}
	return -1;
}

bool cpulist_has(const struct cpulist *list, unsigned int cpu)
{
	return cpulist_index(list, cpu) >= 0;
}

const unsigned int *cpulist_outside(const struct cpulist *part, const struct cpulist *whole)
{
	for (size_t i = 0; i < part->count; i++) {
		if (!cpulist_has(whole, part->cpus[i]))
			return &part->cpus[i];
	}
	return NULL;
}

static struct cpulist keep_where(const struct cpulist *a, const struct cpulist *b, bool in_b)
{
	struct cpulist kept = { .cpus = xcalloc(a->count, sizeof(*kept.cpus)) };

	for (size_t i = 0; i < a->count; i++) {
		if (cpulist_has(b, a->cpus[i]) == in_b)
			kept.cpus[kept.count++] = a->cpus[i];
	}
	return kept;
}

struct cpulist cpulist_copy(const struct cpulist *list)
{
	return keep_where(list, list, true);
}

struct cpulist cpulist_minus(const struct cpulist *a, const struct cpulist *b)
{
	return keep_where(a, b, false);
}

struct cpulist cpulist_and(const struct cpulist *a, const struct cpulist *b)
{
	return keep_where(a, b, true);
}

int cpulist_allowed(struct cpulist *ret)
{
	cpulist_set set;

	if (sched_getaffinity(0, sizeof(set), set))
		return -errno;
	*ret = from_set(set);
	return 0;
}

void cpulist_to_set(const struct cpulist *list, cpulist_set set)
{
	CPU_ZERO_S(sizeof(cpulist_set), set);
	for (size_t i = 0; i < list->count; i++)
		CPU_SET_S(list->cpus[i], sizeof(cpulist_set), set);
}

int cpulist_bind(const struct cpulist *list)
{
	cpulist_set set;

	cpulist_to_set(list, set);
	return sched_setaffinity(0, sizeof(set), set) ? -errno : 0;
}
