/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One value of the command line, checked for form and range, and the names of a table's rows as it
 * takes them.
 *
 * option: its name without dashes, for the message. Each returns 0, or -EINVAL with the message set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpulist.h"
#include "text.h"

/* Returns the name of a table's row; NULL behind the last one. */
typedef const char *name_of(size_t row);

/* The row of a name; the number of rows where there is none. */
size_t names_find(name_of *name, const char *text, size_t length);

/* All of them with commas between; the text is made anew by each call. */
const char *names_join(name_of *name);

/* Takes the place of what `ret` held before. */
int argument_list(const char *option, const char *value, struct cpulist *ret,
		  struct message *message);

/* least, most, ret: ns. */
int argument_time(const char *option, const char *value, uint64_t least, uint64_t most,
		  uint64_t *ret, struct message *message);

/* A whole number in digits. */
int argument_number(const char *option, const char *value, uint64_t least, uint64_t most,
		    uint64_t *ret, struct message *message);

/* Sets one of `flags` for each of the names, which commas part; all of them for "all". */
int argument_names(const char *option, const char *value, bool *flags, name_of *name,
		   struct message *message);
