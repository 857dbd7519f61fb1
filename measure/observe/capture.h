/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records what interrupts the measured CPUs during a run: the kernel's trace if permitted, else the
 * detectors' own context switches.
 *
 * The folder then holds capture.json (the kind of records, their clock, and the losses) and the
 * records themselves; lowlat-gen joins them with the gaps.
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
	/* An existing folder; NULL: do not record. */
	const char *folder;
	enum observer observer;
	const struct cpulist *cpus;
	/* Warm-up, measurement and wake-ups. */
	uint64_t duration_ns;
	/* Limit of all buffers together, in bytes. */
	uint64_t memory;
};

struct capture {
	struct capture_options options;
	struct trace trace;
	bool tracing;
	/* One per detector. */
	struct switches *switches;
	size_t switch_count;
	/* The -errno if the trace, or the switches, could not be recorded; else 0. */
	int trace_error, switches_error;
	/* CLOCK_MONOTONIC_RAW: the time in which the run's counters grew. */
	uint64_t begin_raw_ns, end_raw_ns;
	/* The time between the readings of the counters. */
	uint64_t counted_ns;
};

/*
 * Removes the traces that killed runs left, and starts this run's trace if there is one. Called
 * before the detectors start, so that its own noise is over.
 */
void capture_start(const struct capture_options *options, const struct clock_source *clock,
		   struct capture *ret);

/* Records the detectors' switches if there is no trace; the detectors must be running. */
void capture_attach(struct capture *capture, const struct detectors *detectors);

/* Around the measurement. capture_drain(), called between them, empties rings of limited size. */
void capture_begin(struct capture *capture);
void capture_drain(struct capture *capture);
void capture_end(struct capture *capture);

/*
 * Writes the folder's files and removes the traces. The clock is calibrated at the end; messages
 * for the user go into problems. If the trace was asked for by name, its -errno may be returned.
 */
int capture_save(struct capture *capture, const struct detectors *detectors,
		 const struct clock_source *clock, struct strings *problems);

void capture_deinit(struct capture *capture);

/*
 * Opens the folder to write a capture to. Returns a descriptor, or -errno: -ENOENT, -ENOTDIR,
 * -ELOOP (a symbolic link: its owner could redirect root's output), -EEXIST (it holds a capture
 * already), -EACCES or -EROFS.
 */
int capture_folder_open(const char *path);

/* Writes the records, then capture.json; overwrites no file, and removes its files on failure. */
int capture_folder_write(const struct capture *capture, const struct detectors *detectors,
			 const struct clock_source *clock);
