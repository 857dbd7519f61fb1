/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small text files read whole, messages, and lists of strings. */
#ifndef LOWLAT_TEXT_H
#define LOWLAT_TEXT_H

#include <stddef.h>

/* One line for the user; the sentence says what, on what, why and what to do. */
struct message {
	char text[512];
};

/* A growing list. Zero-initialised is empty; once something was added, items ends in NULL. */
struct strings {
	char **items;
	size_t count;
};

/* Sets the message, control characters in it replaced. Always returns -EINVAL, so that a refusal is one statement. */
int message_set(struct message *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds one; without memory it is dropped. */
void strings_add(struct strings *strings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void strings_deinit(struct strings *strings);

/*
 * Reads at most `limit` bytes of a file, of /proc too, in as few calls as possible.
 *
 * ret: text ending in NUL, to be freed by the caller.
 * Returns 0, or -errno of open or read, or -ENOMEM.
 */
int text_read(const char *path, size_t limit, char **ret);

/* As text_read() up to 16 MiB, without the newlines at the end; NULL where it can't be read. */
char *text_read_trimmed(const char *path);

/* Cuts white space at the end, in place. Returns its argument. */
char *text_trim(char *text);

#endif
