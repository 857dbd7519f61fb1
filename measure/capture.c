/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "units.h"

/* The kernel takes about 40 bytes an event; a busy CPU has 50,000 a second. */
#define TRACE_KIB_PER_S UINT64_C(2000)
#define TRACE_KIB_MIN UINT64_C(1024)
#define TRACE_KIB_MAX UINT64_C(65536)
#define SWITCHES_PER_S UINT64_C(20000)
#define SWITCHES_MAX (UINT64_C(1) << 20)
#define SWITCHES_MIN (UINT64_C(1) << 12)

static uint64_t share(const struct capture_options *options, size_t unit)
{
	return options->memory / options->cpus->count / unit;
}

static uint64_t clamp(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static uint64_t buffer_kib(const struct capture_options *options)
{
	const uint64_t wanted = (options->duration_ns / NS_PER_S + 1) * TRACE_KIB_PER_S;
	const uint64_t fair = clamp(share(options, 1024), TRACE_KIB_MIN, TRACE_KIB_MAX);

	return clamp(wanted, TRACE_KIB_MIN, fair);
}

static size_t record_count(const struct capture_options *options)
{
	const uint64_t wanted = (options->duration_ns / NS_PER_S + 1) * SWITCHES_PER_S;
	const uint64_t fair =
		clamp(share(options, sizeof(struct switch_record)), SWITCHES_MIN, SWITCHES_MAX);

	return (size_t)clamp(wanted, SWITCHES_MIN, fair);
}

void capture_start(const struct capture_options *options, const struct clock_source *clock,
		   struct capture *ret)
{
	*ret = (struct capture){ .options = *options };
	ret->trace.root = -1;
	if (!options->folder || options->observer == OBSERVER_SWITCHES)
		return;
	ret->trace_error = trace_start(options->cpus, clock->kind == CLOCK_KIND_COUNTER,
				       buffer_kib(options), &ret->trace);
	ret->tracing = !ret->trace_error;
}

void capture_attach(struct capture *capture, const struct detectors *detectors)
{
	if (!capture->options.folder || capture->tracing ||
	    capture->options.observer == OBSERVER_TRACE)
		return;
	capture->switches = calloc(detectors->count, sizeof(*capture->switches));
	if (!capture->switches)
		capture->switches_error = -ENOMEM;
	for (size_t i = 0; !capture->switches_error && i < detectors->started; i++) {
		const struct detector *detector = &detectors->items[i];

		capture->switches_error = switches_init(detector->tid, detector->cpu,
							record_count(&capture->options),
							&capture->switches[i]);
		capture->switch_count += !capture->switches_error;
	}
}

/* "cpuN user nice system idle iowait irq softirq steal ..." */
static uint64_t parse_steal(const char *stat, unsigned int cpu)
{
	uint64_t steal = 0;
	const char *line;
	char name[32];

	snprintf(name, sizeof(name), "\ncpu%u ", cpu);
	line = strstr(stat, name);
	if (line)
		sscanf(line + strlen(name), "%*u %*u %*u %*u %*u %*u %*u %" SCNu64, &steal);
	return steal;
}

/* Takes it with one sign, then with the other: what stays is the growth. */
static void take_steal(struct capture *capture, bool end)
{
	_cleanup_free_ char *stat = text_read_trimmed("/proc/stat");

	for (size_t i = 0; stat && capture->steal && i < capture->options.cpus->count; i++) {
		const uint64_t steal = parse_steal(stat, capture->options.cpus->cpus[i]);

		capture->steal[i] = end ? steal - capture->steal[i] : steal;
	}
}

void capture_begin(struct capture *capture)
{
	if (!capture->options.folder)
		return;
	capture->steal = calloc(capture->options.cpus->count, sizeof(*capture->steal));
	take_steal(capture, false);
	capture->begin_raw_ns = clock_raw_ns();
}

void capture_drain(struct capture *capture)
{
	for (size_t i = 0; i < capture->switch_count; i++)
		switches_drain(&capture->switches[i]);
}

void capture_end(struct capture *capture)
{
	if (!capture->options.folder)
		return;
	capture->end_raw_ns = clock_raw_ns();
	if (capture->tracing)
		trace_stop(&capture->trace);
	for (size_t i = 0; i < capture->switch_count; i++)
		switches_stop(&capture->switches[i]);
	take_steal(capture, true);
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

static json_t *list_to_json(const struct strings *strings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < strings->count; i++)
		json_array_append_new(array, json_string(strings->items[i]));
	return array;
}

static struct trace_count count_of(const struct capture *capture, size_t index)
{
	struct trace_count count = { 0 };

	if (capture->tracing)
		return trace_count(&capture->trace, (int)capture->options.cpus->cpus[index]);
	if (index < capture->switch_count) {
		count.entries = capture->switches[index].count;
		count.lost = capture->switches[index].lost;
	}
	return count;
}

static json_t *cpus_to_json(const struct capture *capture, const struct detectors *detectors)
{
	json_t *cpus = json_array();

	for (size_t i = 0; i < detectors->count; i++) {
		const struct detector *detector = &detectors->items[i];
		const struct trace_count count = count_of(capture, i);

		json_array_append_new(
			cpus, json_pack("{s:i, s:i, s:I, s:I, s:I, s:I, s:f}", "cpu",
					(int)detector->cpu, "thread", (int)detector->tid, "begin",
					(json_int_t)detector->spin.begin, "end",
					(json_int_t)detector->spin.end, "entries",
					(json_int_t)count.entries, "lost", (json_int_t)count.lost,
					"steal_s",
					capture->steal ? (double)capture->steal[i] /
								 (double)sysconf(_SC_CLK_TCK) :
							 0.0));
	}
	return cpus;
}

static json_t *to_json(const struct capture *capture, const struct detectors *detectors,
		       const struct clock_source *clock)
{
	json_t *root = json_pack("{s:s, s:s, s:s, s:o, s:o, s:I, s:I, s:o}", "schema",
				 "lowlat.capture/1", "observer", observer_name(capture), "clock",
				 capture->tracing ? capture->trace.clock : "mono_raw", "first",
				 pair_to_json(&clock->first), "last", pair_to_json(&clock->last),
				 "begin_raw_ns", (json_int_t)capture->begin_raw_ns, "end_raw_ns",
				 (json_int_t)capture->end_raw_ns, "cpus",
				 cpus_to_json(capture, detectors));

	if (root && capture->trace_error)
		json_object_set_new(root, "trace_error",
				    json_string(strerror(-capture->trace_error)));
	if (root && capture->tracing) {
		json_object_set_new(root, "buffer_kib",
				    json_integer((json_int_t)capture->trace.buffer_kib));
		json_object_set_new(root, "events", list_to_json(&capture->trace.events));
		json_object_set_new(root, "missing", list_to_json(&capture->trace.missing));
		json_object_set_new(
			root, "senders_lost",
			json_integer((json_int_t)trace_count(&capture->trace, -1).lost));
	}
	return root;
}

static int open_in(int folder, const char *name, FILE **ret)
{
	const int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	*ret = fd < 0 ? NULL : fdopen(fd, "w");
	return *ret ? 0 : -errno;
}

static int close_whole(FILE *file, int err)
{
	return fclose(file) && !err ? -EIO : err;
}

static int save_switches(const struct capture *capture, int folder)
{
	FILE *file;
	int err = open_in(folder, "switches.csv", &file);

	if (err)
		return err;
	fputs("cpu,raw_ns,out\n", file);
	for (size_t i = 0; !err && i < capture->switch_count; i++)
		err = switches_write(&capture->switches[i], file);
	return close_whole(file, err);
}

static int save_summary(const struct capture *capture, const struct detectors *detectors,
			const struct clock_source *clock, int folder)
{
	json_t *root = to_json(capture, detectors, clock);
	FILE *file;
	int err = root ? open_in(folder, "capture.json", &file) : -ENOMEM;

	if (!err) {
		err = json_dumpf(root, file, JSON_INDENT(2) | JSON_PRESERVE_ORDER) ? -EIO : 0;
		err = close_whole(file, err);
	}
	json_decref(root);
	return err;
}

static int save_all(const struct capture *capture, const struct detectors *detectors,
		    const struct clock_source *clock)
{
	_cleanup_close_ int folder =
		open(capture->options.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err;

	if (folder < 0)
		return -errno;
	err = save_summary(capture, detectors, clock, folder);
	if (!err && capture->tracing)
		err = trace_save(&capture->trace, capture->options.cpus, folder);
	if (!err && capture->switch_count)
		err = save_switches(capture, folder);
	return err;
}

static void explain(const struct capture *capture, struct strings *problems)
{
	if (capture->trace_error && capture->options.observer == OBSERVER_TRACE)
		strings_add(problems, "the kernel's trace can't be used (%s); run as root",
			    strerror(-capture->trace_error));
	if (capture->switches_error)
		strings_add(problems,
			    "the detectors' switches can't be recorded (%s); run as root, or set "
			    "kernel.perf_event_paranoid to 2",
			    strerror(-capture->switches_error));
}

int capture_save(struct capture *capture, const struct detectors *detectors,
		 const struct clock_source *clock, struct strings *problems)
{
	int err = 0;

	if (capture->options.folder) {
		/* A run that ended in its warm-up never came to capture_end(). */
		if (capture->tracing)
			trace_stop(&capture->trace);
		explain(capture, problems);
		err = save_all(capture, detectors, clock);
	}
	if (err)
		strings_add(problems, "--capture '%.200s': can't be written (%s)",
			    capture->options.folder, strerror(-err));
	if (capture->tracing)
		trace_deinit(&capture->trace);
	capture->tracing = false;
	/* What was asked for by name and is missing makes the run partial. */
	if (!err && capture->options.folder && capture->options.observer == OBSERVER_TRACE)
		err = capture->trace_error;
	return err;
}

void capture_deinit(struct capture *capture)
{
	if (capture->tracing)
		trace_deinit(&capture->trace);
	for (size_t i = 0; i < capture->switch_count; i++)
		switches_deinit(&capture->switches[i]);
	free(capture->switches);
	free(capture->steal);
	*capture = (struct capture){ 0 };
}
