/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture.h"

#include <stdlib.h>
#include <string.h>

#include "units.h"
#include "xalloc.h"

/* The kernel needs about 40 bytes per event; a busy CPU has 50,000 events per second. */
#define TRACE_KIB_PER_S UINT64_C(2000)
#define TRACE_KIB_MIN UINT64_C(1024)
/* A minute of that. */
#define TRACE_KIB_MAX UINT64_C(131072)
#define SWITCHES_PER_S UINT64_C(20000)
#define SWITCHES_MAX (UINT64_C(1) << 20)
#define SWITCHES_MIN (UINT64_C(1) << 12)

/* The size wanted for each CPU in a run of that length, within a fair share of the memory. */
static uint64_t amount(const struct capture_options *options, uint64_t per_s, size_t unit,
		       uint64_t fewest, uint64_t most)
{
	const uint64_t wanted = (options->duration_ns / NS_PER_S + 1) * per_s;
	const uint64_t share = options->memory / options->cpus->count / unit;
	const uint64_t given = least(most, least(wanted, share));

	return given > fewest ? given : fewest;
}

void capture_start(const struct capture_options *options, const struct clock_source *clock,
		   struct capture *ret)
{
	*ret = (struct capture){ .options = *options };
	ret->trace.root = -1;
	/* Also without a folder: leftover traces still record, which is noise in any run. */
	instances_sweep(0);
	if (!options->folder || options->observer == OBSERVER_SWITCHES)
		return;
	ret->trace_error = trace_start(
		options->cpus, clock->kind == CLOCK_KIND_COUNTER,
		amount(options, TRACE_KIB_PER_S, 1024, TRACE_KIB_MIN, TRACE_KIB_MAX), &ret->trace);
	ret->tracing = !ret->trace_error;
}

void capture_attach(struct capture *capture, const struct detectors *detectors)
{
	size_t size;

	if (!capture->options.folder || capture->tracing ||
	    capture->options.observer == OBSERVER_TRACE)
		return;
	size = amount(&capture->options, SWITCHES_PER_S, sizeof(struct switch_record), SWITCHES_MIN,
		      SWITCHES_MAX);
	capture->switches = xcalloc(detectors->count, sizeof(*capture->switches));
	for (size_t i = 0; !capture->switches_error && i < detectors->started; i++) {
		const struct detector *detector = &detectors->items[i];

		capture->switches_error =
			switches_init(detector->tid, detector->cpu, size, &capture->switches[i]);
		capture->switch_count += !capture->switches_error;
	}
}

void capture_begin(struct capture *capture)
{
	capture->begin_raw_ns = clock_raw_ns();
}

void capture_drain(struct capture *capture)
{
	for (size_t i = 0; i < capture->switch_count; i++)
		switches_drain(&capture->switches[i]);
}

void capture_end(struct capture *capture)
{
	capture->end_raw_ns = clock_raw_ns();
	for (size_t i = 0; i < capture->switch_count; i++)
		switches_stop(&capture->switches[i]);
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
	int err;

	if (capture->tracing)
		trace_stop(&capture->trace);
	explain(capture, problems);
	err = capture_folder_write(capture, detectors, clock);
	if (err)
		strings_add(problems, "--capture '%.200s': can't be written (%s)",
			    capture->options.folder, strerror(-err));
	if (capture->tracing)
		trace_deinit(&capture->trace);
	capture->tracing = false;
	/* The trace was asked for by name; the switches were not, and are not required. */
	return !err && capture->options.observer == OBSERVER_TRACE ? capture->trace_error : err;
}

void capture_deinit(struct capture *capture)
{
	if (capture->tracing)
		trace_deinit(&capture->trace);
	for (size_t i = 0; i < capture->switch_count; i++)
		switches_deinit(&capture->switches[i]);
	free(capture->switches);
	*capture = (struct capture){ 0 };
}
