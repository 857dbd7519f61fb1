/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a command line is refused with. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "options.h"

/* As options_parse(). said: its line without the end of it, to be freed by the caller; "": none. */
static inline int parse_saying(int argc, char *const argv[], struct options *ret, char **said)
{
	FILE *const terminal = stderr;
	size_t length;
	int err;

	stderr = open_memstream(said, &length);
	err = options_parse(argc, argv, ret);
	fclose(stderr);
	stderr = terminal;
	if (length && (*said)[length - 1] == '\n')
		(*said)[length - 1] = '\0';
	return err;
}
