/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The Test Anything Protocol in a page. A test program ends with `return tap_end();`. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

#define ok(condition, ...) tap_line((condition), __FILE__, __LINE__, __VA_ARGS__)
#define is_text(got, want, name)                                                                   \
	do {                                                                                       \
		const char *tap_got = (got), *tap_want = (want);                                   \
		ok(tap_got && !strcmp(tap_got, tap_want), "%s", (name));                           \
		if (!tap_got || strcmp(tap_got, tap_want))                                         \
			printf("# got '%s', want '%s'\n", tap_got ? tap_got : "(null)", tap_want); \
	} while (0)

__attribute__((format(printf, 4, 5))) static inline void tap_line(bool condition, const char *file,
								  int line, const char *format, ...)
{
	va_list args;

	tap_count++;
	tap_failed += !condition;
	printf("%sok %d - ", condition ? "" : "not ", tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	if (!condition)
		printf("# at %s:%d\n", file, line);
}

/* A measure of this machine, which passes and fails nothing. */
static inline void figure(const char *name, double value, const char *unit)
{
	printf("# figure %s %g %s\n", name, value, unit);
}

static inline int tap_end(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}
