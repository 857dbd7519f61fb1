/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One value of the command line, checked for form and range.
 *
 * option: its name without dashes, for the message. Each returns 0, or -EINVAL with the message set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpulist.h"
#include "name_table.h"
#include "text.h"

/* Takes the place of what `ret` held before. */
int argument_list(const char *option, const char *value, struct cpulist *ret,
		  struct message *message);

/* least, most, ret: ns. */
int argument_time(const char *option, const char *value, uint64_t least, uint64_t most,
		  uint64_t *ret, struct message *message);

/* Sets one of `flags` for each of the names, which commas part; all of them for "all". */
int argument_names(const char *option, const char *value, bool *flags, name_of *name,
		   struct message *message);
