/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory, or the end of the program; its reapers then end its programs and remove its files. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns its argument. */
static inline void *xalloc_check(void *memory)
{
	static const char reason[] = "lowlat-measure: no memory is left; free some\n";

	if (!memory)
		/* Not exit(): a forked process would write the parent's files a second time. */
		_exit(write(STDERR_FILENO, reason, sizeof(reason) - 1) < 0 ? 1 : 2);
	return memory;
}

/* All zero; at least one byte, so that an empty array has an address. */
static inline void *xcalloc(size_t count, size_t size)
{
	return xalloc_check(calloc(count + !count, size));
}

static inline void *xrealloc(void *memory, size_t size)
{
	return xalloc_check(realloc(memory, size));
}

static inline char *xstrndup(const char *text, size_t length)
{
	return xalloc_check(strndup(text, length));
}
