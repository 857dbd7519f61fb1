/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>

#include "cleanup.h"
#include "xalloc.h"

#define FIRST_BLOCK ((size_t)64 << 10)
#define FILE_LIMIT ((size_t)16 << 20)

int refuse(const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* It quotes the user's input, and must be one line. */
	for (char *c = text; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = '?';
	}
	fprintf(stderr, "lowlat-measure: %s\n", text);
	return -EINVAL;
}

char *text_format(const char *format, ...)
{
	va_list args;
	char *text;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	return xalloc_check(length < 0 ? NULL : text);
}

void strings_take(struct strings *strings, char *text)
{
	strings->items = xrealloc(strings->items, (strings->count + 2) * sizeof(*strings->items));
	strings->items[strings->count++] = text;
	strings->items[strings->count] = NULL;
}

void strings_take_words(struct strings *strings, char *text)
{
	char *save = NULL;

	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		strings_add(strings, "%s", word);
	free(text);
}

void strings_deinit(struct strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free(strings->items[i]);
	free(strings->items);
	*strings = (struct strings){ 0 };
}

int text_read(const char *path, size_t limit, char **ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = FIRST_BLOCK, used = 0;
	char *text;
	ssize_t got = 1;

	if (fd < 0)
		return -errno;
	for (text = xrealloc(NULL, size); got > 0 && used<limit; used += got> 0 ? (size_t)got : 0) {
		if (used + 1 == size)
			text = xrealloc(text, size *= 2);
		got = read(fd, text + used, size - used - 1);
	}
	text[used < limit ? used : limit] = '\0';
	*ret = text;
	return got < 0 ? -errno : 0;
}

char *text_take_trimmed(char *path)
{
	char *text = NULL;
	int err = text_read(path, FILE_LIMIT, &text);

	free(path);
	if (err) {
		free(text);
		return NULL;
	}
	for (size_t length = strlen(text); length && isspace((unsigned char)text[length - 1]);)
		text[--length] = '\0';
	return text;
}

bool text_take_number(int64_t *ret, char *path)
{
	_cleanup_free_ char *text = text_take_trimmed(path);
	char *end = NULL;
	const int64_t value = text ? strtoll(text, &end, 10) : 0;

	if (!text || end == text || *end)
		return false;
	*ret = value;
	return true;
}

int text_write(int folder, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(folder, path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

const char *text_after(const char *text, const char *mark)
{
	const char *found = text ? strstr(text, mark) : NULL;

	return found ? found + strlen(mark) : NULL;
}

uint64_t text_count_after(const char *text, const char *mark)
{
	const char *number = text_after(text, mark);

	return number ? strtoull(number, NULL, 10) : 0;
}

char *text_word_after(const char *text, const char *mark, const char *ends)
{
	const char *word = text_after(text, mark);

	return word ? xstrndup(word, strcspn(word, ends)) : NULL;
}
