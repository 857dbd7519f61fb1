/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What interrupts the measured CPUs, recorded beside a run: by the kernel's trace where that is
 * permitted, else the detectors' own context switches.
 *
 * The folder then holds capture.json (what was recorded, on which clock, and what was lost) and
 * the records themselves; lowlat-gen joins them with the gaps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "detector.h"
#include "switches.h"
#include "text.h"
#include "trace.h"

enum observer {
	OBSERVER_AUTO,
	OBSERVER_TRACE,
	OBSERVER_SWITCHES,
};

struct capture_options {
	/* An existing folder; NULL: nothing is recorded. */
	const char *folder;
	enum observer observer;
	const struct cpulist *cpus;
	/* Warm-up, measurement and wake-ups. */
	uint64_t duration_ns;
	/* Bytes that all buffers together may take. */
	uint64_t memory;
};

struct capture {
	struct capture_options options;
	struct trace trace;
	bool tracing;
	/* One a detector. */
	struct switches *switches;
	size_t switch_count;
	/* Why nothing better was recorded; 0 when it was. */
	int trace_error, switches_error;
	/* CLOCK_MONOTONIC_RAW: the window in which the run's counters grew. */
	uint64_t begin_raw_ns, end_raw_ns;
	/* Between the readings of the counters. */
	uint64_t counted_ns;
};

/*
 * Ends the traces that killed runs left, and starts the own one, if any; before the detectors, so
 * that its own noise is over.
 */
void capture_start(const struct capture_options *options, const struct clock_source *clock,
		   struct capture *ret);

/* Records the detectors' switches where there is no trace; they must run already. */
void capture_attach(struct capture *capture, const struct detectors *detectors);

/* Around the measurement; the one between empties rings of limited size now and then. */
void capture_begin(struct capture *capture);
void capture_drain(struct capture *capture);
void capture_end(struct capture *capture);

/*
 * Writes the folder's files and removes all traces of recording. The clock is calibrated at the
 * end; sentences for the user go into problems. The -errno may be that of the trace asked for by
 * name.
 */
int capture_save(struct capture *capture, const struct detectors *detectors,
		 const struct clock_source *clock, struct strings *problems);

void capture_deinit(struct capture *capture);

/*
 * Opens the folder that a capture shall be written to. Returns a descriptor, or -errno: -ENOENT,
 * -ENOTDIR, -ELOOP (a symbolic link: who made it could lead root anywhere), -EEXIST (it holds a
 * capture already), -EACCES or -EROFS.
 */
int capture_folder_open(const char *path);

/* Writes capture.json behind the records; overwrites nothing, leaves nothing of a failure. */
int capture_folder_write(const struct capture *capture, const struct detectors *detectors,
			 const struct clock_source *clock);
