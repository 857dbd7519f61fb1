/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small text files read whole, messages, and lists of strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line for the user; the sentence says what, on what, why and what to do. */
struct message {
	char text[512];
};

/* A growing list. Zero-initialised is empty; once something was added, items ends in NULL. */
struct strings {
	char **items;
	size_t count;
};

/* Sets the message, control characters replaced. Returns -EINVAL, so that a refusal is one statement. */
int message_set(struct message *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

void strings_add(struct strings *strings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds each of the words that blanks part in the formatted text. */
void strings_add_words(struct strings *strings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void strings_deinit(struct strings *strings);

/* To be freed by the caller. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Reads at most `limit` bytes of a file, of /proc too, in as few calls as possible. ret: text ending
 * in NUL, to be freed by the caller; untouched where the file can't be opened.
 */
int text_read(const char *path, size_t limit, char **ret);

/* Writes to a file that is there, of the kernel's. */
int text_write(int folder, const char *path, const char *text);

/* As text_read() up to 16 MiB, without the white space at the end; NULL where it can't be read. */
char *text_read_trimmed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reads a file that holds one number. Returns whether it does; else ret stays as it was. */
bool text_read_number(int64_t *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What follows the first `mark` in the text; NULL where there is neither. */
const char *text_after(const char *text, const char *mark);

/* The number there; 0: none. */
uint64_t text_count_after(const char *text, const char *mark);

/* A copy of the word there, up to one of `ends`; NULL: none. */
char *text_word_after(const char *text, const char *mark, const char *ends);
