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

/* Sets the message, control characters replaced. Returns -EINVAL: a refusal is one statement. */
int message_set(struct message *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* To be freed by the caller. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Add a formatted text, and each of the words that blanks part in it. */
#define strings_add(strings, ...) strings_take(strings, text_format(__VA_ARGS__))
#define strings_add_words(strings, ...) strings_take_words(strings, text_format(__VA_ARGS__))
void strings_take(struct strings *strings, char *text);
void strings_take_words(struct strings *strings, char *text);
void strings_deinit(struct strings *strings);

/*
 * Reads at most `limit` bytes of a file, of /proc too, in as few calls as possible. ret: text
 * ending in NUL, to be freed by the caller; untouched where the file can't be opened.
 */
int text_read(const char *path, size_t limit, char **ret);

/* Writes to a file that is there, of the kernel's. */
int text_write(int folder, const char *path, const char *text);

/* As text_read() up to 16 MiB, without the white space at the end; NULL where it can't be read. */
#define text_read_trimmed(...) text_take_trimmed(text_format(__VA_ARGS__))
char *text_take_trimmed(char *path);

/* Reads a file that holds one number. Returns whether it does; else ret stays as it was. */
#define text_read_number(ret, ...) text_take_number(ret, text_format(__VA_ARGS__))
bool text_take_number(int64_t *ret, char *path);

/* What follows the first `mark` in the text; NULL where there is neither. */
const char *text_after(const char *text, const char *mark);

/* The number there; 0: none. */
uint64_t text_count_after(const char *text, const char *mark);

/* A copy of the word there, up to one of `ends`; NULL: none. */
char *text_word_after(const char *text, const char *mark, const char *ends);
