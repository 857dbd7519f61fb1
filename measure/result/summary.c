/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "summary.h"

#include <inttypes.h>

#include "cleanup.h"
#include "figures.h"
#include "works.h"

#define TOP_SOURCES 4

static void write_time(FILE *file, double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	int unit = 0;

	for (; unit < 3 && ns >= 1000; unit++)
		ns /= 1000;
	fprintf(file, "%.*f %s", unit ? 2 : 1, ns, units[unit]);
}

static void write_noise(const struct run *run, const struct detector *detector, FILE *file)
{
	const struct figures figures = figures_of(run, detector);

	fprintf(file, "  noise           %.1f ppm, %.1f events/s above %" PRIu64 " ns, longest ",
		figures.noise_ppm, figures.events_per_s, run->threshold_ns);
	write_time(file, figures.max_ns);
	fprintf(file,
		"\n  loop period     %.1f ns, the machine's own clock reading %.1f ns (%.2f x)\n",
		figures.loop_period_ns, figures.floor_ns,
		figures.floor_ns > 0 ? figures.loop_period_ns / figures.floor_ns : 0);
}

/* The slowest stretches against the usual one. */
static void write_soft(const struct spin *spin, FILE *file)
{
	const double usual = (double)hist_value_at(spin->work, 0.5);

	if (usual > 0)
		fprintf(file,
			"  pace            p1 %.1f %%, slowest %.1f %% of the usual one (%.0f "
			"readings per ms)\n",
			100 * (double)hist_value_at(spin->work, 0.01) / usual,
			100 * (double)spin->work->min / usual, usual);
}

/* Index of the row with the highest rate below the last one written; count for none. */
static size_t next_source(const double *rates, size_t count, const bool *done)
{
	size_t best = count;

	for (size_t i = 0; i < count; i++) {
		if (!done[i] && rates[i] > 0 && (best == count || rates[i] > rates[best]))
			best = i;
	}
	return best;
}

static void write_entries(const struct run *run, size_t column, FILE *file)
{
	const struct counters *after = &run->after.interrupts;
	_cleanup_free_ double *rates = calloc(after->count + 1, sizeof(*rates));
	_cleanup_free_ bool *done = calloc(after->count + 1, sizeof(*done));
	double total = 0;

	if (!run->counters_valid || !rates || !done)
		return;
	for (size_t i = 0; i < after->count; i++) {
		rates[i] = figures_rate(run, &run->before.interrupts, after, i, column);
		total += rates[i];
	}
	fprintf(file, "  kernel entries  %.2f/s", total);
	for (int i = 0; i < TOP_SOURCES; i++) {
		const size_t row = next_source(rates, after->count, done);

		if (row == after->count)
			break;
		done[row] = true;
		fprintf(file, "%s%s %.2f", i ? ", " : ": ", after->rows[row].label, rates[row]);
	}
	fprintf(file, "\n");
}

static void write_verdict(const struct run *run, FILE *file)
{
	fprintf(file, "%s, %s\n", run->complete ? "complete" : "NOT COMPLETE",
		run->valid ? "valid" : "NOT VALID");
	for (size_t i = 0; i < run->problems.count; i++)
		fprintf(file, "  - %s\n", run->problems.items[i]);
}

void summary_write(const struct run *run, FILE *file)
{
	fprintf(file, "kernel %s, clock %s at %.6f MHz, load %s\n", run->host.kernel,
		run->clock.name, run->clock.hz / 1e6,
		run->options.load ? run->options.load->name : "idle");
	if (run->host.emulated)
		fprintf(file, "The CPUs are emulated: durations mean nothing and are left out.\n");
	for (size_t i = 0; i < run->detectors.count; i++) {
		const struct detector *detector = &run->detectors.items[i];

		if (!detector->measured)
			continue;
		fprintf(file, "CPU %u, %.2f s\n", detector->cpu,
			figures_of(run, detector).runtime_ns / 1e9);
		if (!run->host.emulated)
			write_noise(run, detector, file);
		if (!run->host.emulated)
			write_soft(&detector->spin, file);
		write_entries(run, i, file);
	}
	works_write(run, file);
	write_verdict(run, file);
}
