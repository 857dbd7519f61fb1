/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

#define FIRST_BLOCK ((size_t)64 << 10)
#define FILE_LIMIT ((size_t)16 << 20)

int message_set(struct message *ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ret->text, sizeof(ret->text), format, args);
	va_end(args);
	/* A message quotes what was typed, and is one line all the same. */
	for (char *c = ret->text; *c; c++) {
		if (iscntrl((unsigned char)*c))
			*c = '?';
	}
	return -EINVAL;
}

void strings_add(struct strings *strings, const char *format, ...)
{
	char **items = realloc(strings->items, (strings->count + 2) * sizeof(*items));
	va_list args;

	if (!items)
		return;
	strings->items = items;
	va_start(args, format);
	if (vasprintf(&items[strings->count], format, args) >= 0)
		strings->count++;
	items[strings->count] = NULL;
	va_end(args);
}

void strings_deinit(struct strings *strings)
{
	for (size_t i = 0; i < strings->count; i++)
		free(strings->items[i]);
	free(strings->items);
	*strings = (struct strings){ 0 };
}

struct buffer {
	char *text;
	size_t size;
	size_t used;
};

static int buffer_grow(struct buffer *buffer)
{
	const size_t size = buffer->size ? buffer->size * 2 : FIRST_BLOCK;
	char *bigger = realloc(buffer->text, size);

	if (!bigger)
		return -ENOMEM;
	buffer->text = bigger;
	buffer->size = size;
	return 0;
}

static int buffer_fill(struct buffer *buffer, int fd, size_t limit)
{
	while (buffer->used < limit) {
		ssize_t got;

		if (buffer->used + 1 >= buffer->size && buffer_grow(buffer) < 0)
			return -ENOMEM;
		got = read(fd, buffer->text + buffer->used, buffer->size - buffer->used - 1);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			break;
		buffer->used += got > 0 ? (size_t)got : 0;
	}
	buffer->text[buffer->used < limit ? buffer->used : limit] = '\0';
	return 0;
}

int text_read(const char *path, size_t limit, char **ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buffer buffer = { 0 };
	int err;

	if (fd < 0)
		return -errno;
	err = buffer_fill(&buffer, fd, limit);
	if (err)
		free(buffer.text);
	else
		*ret = buffer.text;
	return err;
}

char *text_read_trimmed(const char *path)
{
	char *text;

	if (text_read(path, FILE_LIMIT, &text) < 0)
		return NULL;
	return text_trim(text);
}

char *text_trim(char *text)
{
	size_t length = strlen(text);

	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = '\0';
	return text;
}
