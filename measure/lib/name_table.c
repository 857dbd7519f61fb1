/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "name_table.h"

#include <stdio.h>
#include <string.h>

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
