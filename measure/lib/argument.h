/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command line, read by a table of its options, and the names that other tables give it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "text.h"

/* Returns the name of a table's row; NULL behind the last one. */
typedef const char *name_of(size_t row);

/* The row of a name; the number of rows where there is none. */
size_t names_find(name_of *name, const char *text, size_t length);

/* All of them with commas between; the text is made anew by each call. */
const char *names_join(name_of *name);

/* A value of an option, and where it goes. */
struct argument {
	const struct option *option;
	const char *value;
	void *field;
	struct message *message;
};

/* Checks a value for form and range and keeps it. Returns 0, or -EINVAL with the message set. */
typedef int argument_reader(const struct argument *given);

/* A cpulist, in place of the one before; a const char *; a bool. */
argument_reader argument_list, argument_text, argument_flag;
/* A uint64_t from `least` to `most`: ns, or a whole number. */
argument_reader argument_time, argument_number;
/* A bool for each of the `rows`: those named, with commas between, or "all". */
argument_reader argument_names;

struct option {
	const char *name;
	/* NULL where it takes none. */
	const char *value_name;
	/* Its line in the help ends with the names of the rows. */
	const char *help;
	argument_reader *read;
	size_t field;
	uint64_t least, most;
	name_of *rows;
	/* The value that none stands for; NULL: it needs one. */
	const char *absent;
	/* What to say of an empty one; NULL: it may be. */
	const char *empty;
};

/* Sets the message: the option, its value and the rest. Returns -EINVAL. */
#define argument_refuse(given, ...) argument_refuse_why(given, text_format(__VA_ARGS__))
int argument_refuse_why(const struct argument *given, char *why);

/*
 * Reads the arguments behind the first into the fields of `ret`. The last row of the table has no
 * name. Texts belong to argv. Returns 0, or -EINVAL with the message set.
 */
int arguments_parse(const struct option *table, int argc, char *const argv[], void *ret,
		    struct message *message);

/* A line for each option. */
void arguments_help(const struct option *table, FILE *file);
