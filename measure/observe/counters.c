/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cleanup.h"
#include "units.h"
#include "text.h"
#include "xalloc.h"

#define PROC_LIMIT ((size_t)256 << 20)
/* A 32-bit counter below this value did not wrap within a run. */
#define WRAP_LEAST (UINT64_C(1) << 31)

/* Maps the columns of the file to the wanted CPUs. */
struct columns {
	/* By column: the index of the wanted CPU, or -1. */
	int *wanted;
	size_t count;
};

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n");
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

static int parse_header(const char *text, const struct cpulist *cpus, struct columns *ret)
{
	const char *end = line_end(text);
	/* "CPU0" is the shortest name. */
	const size_t most = (size_t)(end - text) / 4 + 1;
	size_t found = 0;

	*ret = (struct columns){ .wanted = xcalloc(most, sizeof(int)) };
	for (text = skip_blanks(text); text < end; text = skip_blanks(text)) {
		char *stop;
		int index;

		if (strncmp(text, "CPU", 3) || !isdigit((unsigned char)text[3]))
			return -EINVAL;
		index = cpulist_index(cpus, strtoul(text + 3, &stop, 10));
		ret->wanted[ret->count++] = index;
		found += index >= 0;
		text = stop;
	}
	if (!ret->count)
		return -EINVAL;
	return found == cpus->count ? 0 : -ENXIO;
}

/* Reads the counts; returns the text after them, NULL if there are fewer than columns. */
static const char *parse_counts(const char *text, const struct columns *columns, uint64_t *counts)
{
	for (size_t i = 0; i < columns->count; i++) {
		char *stop;
		uint64_t value;

		text = skip_blanks(text);
		if (!isdigit((unsigned char)*text))
			return NULL;
		value = strtoull(text, &stop, 10);
		if (columns->wanted[i] >= 0)
			counts[columns->wanted[i]] = value;
		text = stop;
	}
	return text;
}

/* The kernel puts two blanks before the first action's name and nowhere after it. */
static const char *find_device(const char *text, const char *end)
{
	const char *device;

	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	for (device = end; device - 2 >= text; device--) {
		if (device[-1] == ' ' && device[-2] == ' ')
			break;
	}
	return device - 2 >= text ? device : end;
}

static char *make_label(const char *name, size_t length, const char *rest, const char *end)
{
	const char *device = find_device(rest, end);
	const bool numbered = isdigit((unsigned char)*name) && device < end;

	return text_format("%.*s%s%.*s", (int)length, name, numbered ? ":" : "",
			   numbered ? (int)(end - device) : 0, device);
}

static void parse_row(const char *line, const struct columns *columns, size_t cpus,
		      struct counters *ret)
{
	const char *name = skip_blanks(line), *rest;
	const size_t length = strcspn(name, ":\n");
	struct counter_row row;

	/* These two are not per CPU. */
	if (name[length] != ':' || !length || !strncmp(name, "ERR:", 4) ||
	    !strncmp(name, "MIS:", 4))
		return;
	row.counts = xcalloc(cpus, sizeof(*row.counts));
	rest = parse_counts(name + length + 1, columns, row.counts);
	if (!rest) {
		free(row.counts);
		return;
	}
	row.label = make_label(name, length, rest, line_end(line));
	ret->rows = xrealloc(ret->rows, (ret->count + 1) * sizeof(*ret->rows));
	ret->rows[ret->count++] = row;
}

int counters_parse(const char *text, const struct cpulist *cpus, struct counters *ret)
{
	struct columns columns;
	int err = parse_header(text, cpus, &columns);

	*ret = (struct counters){ 0 };
	while (!err && *(text = line_end(text)) && *++text)
		parse_row(text, &columns, cpus->count, ret);
	free(columns.wanted);
	return err;
}

void counters_deinit(struct counters *counters)
{
	for (size_t i = 0; i < counters->count; i++) {
		free(counters->rows[i].label);
		free(counters->rows[i].counts);
	}
	free(counters->rows);
	*counters = (struct counters){ 0 };
}

uint64_t counters_growth(const struct counters *before, const struct counters *after, size_t row,
			 size_t column)
{
	const uint64_t now = after->rows[row].counts[column];
	uint64_t old = 0;

	for (size_t i = 0; i < before->count; i++) {
		/* Rows rarely move, so the same place is tried first. */
		const size_t at = (row + i) % before->count;

		if (strcmp(before->rows[at].label, after->rows[row].label) == 0) {
			old = before->rows[at].counts[column];
			break;
		}
	}
	if (now >= old)
		return now - old;
	/* A smaller count belongs to an interrupt that was freed and requested again. */
	return old > WRAP_LEAST ? (uint32_t)(now - old) : now;
}

int counters_read(const char *path, const struct cpulist *cpus, struct counters *ret)
{
	_cleanup_free_ char *text = NULL;
	int err = text_read(path, PROC_LIMIT, &text);

	*ret = (struct counters){ 0 };
	return err ? err : counters_parse(text, cpus, ret);
}

int counter_snapshot_take(const struct cpulist *cpus, struct counter_snapshot *ret)
{
	int err;

	*ret = (struct counter_snapshot){ .raw_ns = clock_raw_ns() };
	err = counters_read("/proc/interrupts", cpus, &ret->interrupts);
	return err ? err : counters_read("/proc/softirqs", cpus, &ret->softirqs);
}

void counter_snapshot_deinit(struct counter_snapshot *snapshot)
{
	counters_deinit(&snapshot->interrupts);
	counters_deinit(&snapshot->softirqs);
}
