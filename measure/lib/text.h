/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small text files read at once, refusals, and lists of strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing list. Zero-initialised is empty; after the first addition, items ends in NULL. */
struct strings {
	char **items;
	size_t count;
};

/* Tells the user in one line why there is no run, and what to do. Returns -EINVAL. */
int refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The caller frees the text. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Add a formatted text, or each of its words, which blanks separate. */
#define strings_add(strings, ...) strings_take(strings, text_format(__VA_ARGS__))
#define strings_add_words(strings, ...) strings_take_words(strings, text_format(__VA_ARGS__))
void strings_take(struct strings *strings, char *text);
void strings_take_words(struct strings *strings, char *text);
void strings_deinit(struct strings *strings);

/*
 * Reads at most `limit` bytes of a file, of /proc too, in as few calls as possible. ret: text
 * ending in NUL, freed by the caller; unchanged if the file can't be opened.
 */
int text_read(const char *path, size_t limit, char **ret);

/* Writes to an existing file of the kernel. */
int text_write(int folder, const char *path, const char *text);

/* As text_read() up to 16 MiB, without trailing white space; NULL if it can't be read. */
#define text_read_trimmed(...) text_take_trimmed(text_format(__VA_ARGS__))
char *text_take_trimmed(char *path);

/* Reads a file with one number. Returns false, and leaves ret unchanged, if it has none. */
#define text_read_number(ret, ...) text_take_number(ret, text_format(__VA_ARGS__))
bool text_take_number(int64_t *ret, char *path);

/* The text after the first `mark`; NULL if there is no text or no mark. */
const char *text_after(const char *text, const char *mark);

/* The number after the mark; 0 if there is none. */
uint64_t text_count_after(const char *text, const char *mark);

/* A copy of the word after the mark, up to one of `ends`; NULL if there is none. */
char *text_word_after(const char *text, const char *mark, const char *ends);
