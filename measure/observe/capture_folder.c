/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cleanup.h"
#include "json_value.h"
#include "xalloc.h"

#define SUMMARY "capture.json"

/* With a trailing slash the kernel follows a symbolic link, regardless of flags. */
static char *without_slashes(const char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	return xstrndup(path, length);
}

int capture_folder_open(const char *path)
{
	_cleanup_free_ char *name = without_slashes(path);
	_cleanup_close_ int fd = -1;
	struct stat status;

	if (lstat(name, &status))
		return -errno;
	if (S_ISLNK(status.st_mode))
		return -ELOOP;
	fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !faccessat(fd, SUMMARY, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	if (fd < 0 || faccessat(fd, ".", W_OK | X_OK, AT_EACCESS))
		return -errno;
	return steal_fd(&fd);
}

static const char *observer_name(const struct capture *capture)
{
	if (capture->tracing)
		return "trace";
	return capture->switch_count && !capture->switches_error ? "switches" : "none";
}

static json_t *pair_to_json(const struct clock_pair *pair)
{
	return json_pack("[I, I]", (json_int_t)pair->ticks, (json_int_t)pair->raw_ns);
}

static uint64_t lost_of(const struct capture *capture, size_t index)
{
	if (capture->tracing)
		return trace_lost(&capture->trace, capture->options.cpus->cpus[index]);
	return index < capture->switch_count ? capture->switches[index].lost : 0;
}

static json_t *cpus_to_json(const struct capture *capture, const struct detectors *detectors)
{
	json_t *cpus = json_array();

	for (size_t i = 0; i < detectors->count; i++) {
		const struct detector *detector = &detectors->items[i];

		json_array_append_new(cpus,
				      json_pack("{s:i, s:i, s:I, s:I, s:I}", "cpu",
						(int)detector->cpu, "thread", (int)detector->tid,
						"begin", (json_int_t)detector->spin.begin, "end",
						(json_int_t)detector->spin.end, "lost",
						(json_int_t)lost_of(capture, i)));
	}
	return cpus;
}

/* Such a kernel may switch away from a softirq. */
static bool is_realtime(void)
{
	struct utsname about;

	return !uname(&about) &&
	       (strstr(about.version, "PREEMPT_RT") || strstr(about.version, "PREEMPT RT"));
}

static json_t *to_json(const struct capture *capture, const struct detectors *detectors,
		       const struct clock_source *clock)
{
	json_t *root = json_pack("{s:s, s:s, s:b, s:s, s:o, s:o, s:I, s:I, s:I, s:o}", "schema",
				 "lowlat.run-capture/1", "observer", observer_name(capture),
				 "realtime", is_realtime(), "clock",
				 capture->tracing ? capture->trace.clock : "mono_raw", "first",
				 pair_to_json(&clock->first), "last", pair_to_json(&clock->last),
				 "begin_raw_ns", (json_int_t)capture->begin_raw_ns, "end_raw_ns",
				 (json_int_t)capture->end_raw_ns, "counted_ns",
				 (json_int_t)capture->counted_ns, "cpus",
				 cpus_to_json(capture, detectors));

	if (capture->trace_error)
		json_object_set_new(root, "trace_error",
				    json_string(strerror(-capture->trace_error)));
	if (capture->tracing) {
		json_object_set_new(root, "missing", value_strings(&capture->trace.missing));
		json_object_set_new(root, "senders_lost",
				    value_count(trace_senders_lost(&capture->trace)));
	}
	return root;
}

static int open_in(int folder, const char *name, struct strings *made, FILE **ret)
{
	const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd >= 0)
		strings_add(made, "%s", name);
	*ret = fd < 0 ? NULL : fdopen(fd, "w");
	return *ret ? 0 : -errno;
}

static int close_whole(FILE *file, int err)
{
	if (ferror(file) && errno)
		err = -errno;
	return fclose(file) && !err ? -errno : err;
}

static int save_switches(const struct capture *capture, int folder, struct strings *made)
{
	FILE *file;
	int err = open_in(folder, "switches.csv", made, &file);

	if (err)
		return err;
	fputs("cpu,raw_ns,out\n", file);
	for (size_t i = 0; !err && i < capture->switch_count; i++)
		err = switches_write(&capture->switches[i], file);
	return close_whole(file, err);
}

static int save_summary(const struct capture *capture, const struct detectors *detectors,
			const struct clock_source *clock, int folder, struct strings *made)
{
	json_t *root = to_json(capture, detectors, clock);
	FILE *file;
	int err = open_in(folder, SUMMARY, made, &file);

	if (!err) {
		err = json_dumpf(root, file, JSON_INDENT(2) | JSON_PRESERVE_ORDER) ? -EIO : 0;
		err = close_whole(file, err);
	}
	json_decref(root);
	return err;
}

int capture_folder_write(const struct capture *capture, const struct detectors *detectors,
			 const struct clock_source *clock)
{
	_cleanup_close_ int folder = capture_folder_open(capture->options.folder);
	struct strings made = { 0 };
	int err = 0;

	if (folder < 0)
		return folder;
	if (capture->tracing)
		err = trace_save(&capture->trace, capture->options.cpus, folder, &made);
	if (!err && capture->switch_count)
		err = save_switches(capture, folder, &made);
	/* The last file: if it exists, all others do. */
	if (!err)
		err = save_summary(capture, detectors, clock, folder, &made);
	for (size_t i = 0; err && i < made.count; i++)
		unlinkat(folder, made.items[i], 0);
	strings_deinit(&made);
	return err;
}
