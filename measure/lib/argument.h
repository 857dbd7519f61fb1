/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command line, parsed by a table of its options, and the names that other tables give it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "text.h"

/* Returns the name of a table's row; NULL behind the last one. */
typedef const char *name_of(size_t row);

/* The row of a name; the number of rows if there is none. */
size_t names_find(name_of *name, const char *text, size_t length);

/* All names with commas between; each call overwrites the text of the previous one. */
const char *names_join(name_of *name);

/* The value of an option, and its destination. */
struct argument {
	const struct option *option;
	const char *value;
	void *field;
};

/* Checks a value's form and range and stores it. Returns 0, or refuses (-EINVAL). */
typedef int argument_reader(const struct argument *given);

/* A cpulist, replacing the previous one; a const char *; a bool. */
argument_reader argument_list, argument_text, argument_flag;
/* A uint64_t from `least` to `most`: ns, or a whole number. */
argument_reader argument_time, argument_number;
/* A bool for each of the `rows`: true for the names given, with commas between, or for "all". */
argument_reader argument_names;

struct option {
	const char *name;
	/* NULL if the option takes no value. */
	const char *value_name;
	/* The option's line in the help; the names of the rows are appended. */
	const char *help;
	argument_reader *read;
	size_t field;
	uint64_t least, most;
	name_of *rows;
	/* The value used if none is given; NULL: a value is required. */
	const char *absent;
	/* The error for an empty value; NULL: it may be empty. */
	const char *empty;
};

/* Refuses the value: the option, the value and the reason. Returns -EINVAL. */
#define argument_refuse(given, ...) argument_refuse_why(given, text_format(__VA_ARGS__))
int argument_refuse_why(const struct argument *given, char *why);

/*
 * Reads the arguments after the first into the fields of `ret`. The last row of the table has no
 * name. Texts belong to argv. Returns 0, or refuses (-EINVAL).
 */
int arguments_parse(const struct option *table, int argc, char *const argv[], void *ret);

/* Prints one line for each option. */
void arguments_help(const struct option *table, FILE *file);
