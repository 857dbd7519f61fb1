/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of CPUs, in the kernel's list syntax ("0-1,8"). */
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* Largest NR_CPUS of any architecture. */
#define CPULIST_MAX 8192

/* CPU numbers, ascending and unique. Zero-initialised is the empty set. */
struct cpulist {
	unsigned int *cpus;
	size_t count;
};

/*
 * Parses plain numbers and ranges; blanks at the end are ignored, "" is the empty set.
 *
 * Returns 0, -EINVAL (malformed or reversed) or -ERANGE (a number above CPULIST_MAX - 1).
 */
int cpulist_parse(const char *text, struct cpulist *ret);
void cpulist_deinit(struct cpulist *list);

/* The list as text; the caller frees it. */
char *cpulist_format(const struct cpulist *list);

/* The CPU's place in the list; -1 if it is not in it. */
int cpulist_index(const struct cpulist *list, unsigned long cpu);
bool cpulist_has(const struct cpulist *list, unsigned int cpu);

/* The first CPU of `part` that is not in `whole`; NULL if there is none. */
const unsigned int *cpulist_outside(const struct cpulist *part, const struct cpulist *whole);

/* Set operations; the caller deinitialises the results. */
struct cpulist cpulist_copy(const struct cpulist *list);
struct cpulist cpulist_minus(const struct cpulist *a, const struct cpulist *b);
struct cpulist cpulist_and(const struct cpulist *a, const struct cpulist *b);

/* The CPUs that the calling thread may run on. */
int cpulist_allowed(struct cpulist *ret);

/* The C library's form, with room for every CPU. */
typedef cpu_set_t cpulist_set[CPULIST_MAX / CPU_SETSIZE];

void cpulist_to_set(const struct cpulist *list, cpulist_set set);

/* Binds the calling thread to the CPUs. */
int cpulist_bind(const struct cpulist *list);
