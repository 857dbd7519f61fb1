/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include <inttypes.h>
#include <math.h>

#include "cleanup.h"
#include "figures.h"
#include "xalloc.h"

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

/* The slowest windows relative to the median. */
static void write_pace(const struct spin *spin, FILE *file)
{
	const double usual = (double)hist_value_at(spin->work, 0.5);

	if (usual > 0)
		fprintf(file,
			"  pace            p1 %.1f %%, slowest %.1f %% of the usual one (%.0f "
			"readings per ms)\n",
			100 * (double)hist_value_at(spin->work, 0.01) / usual,
			100 * (double)spin->work->min / usual, usual);
}

/* Index of the row with the highest rate; count if no rate is above 0. */
static size_t highest(const double *rates, size_t count)
{
	size_t best = count;

	for (size_t i = 0; i < count; i++) {
		if (rates[i] > (best < count ? rates[best] : 0))
			best = i;
	}
	return best;
}

static void write_interrupts(const struct run *run, size_t column, FILE *file)
{
	const struct counters *after = &run->after.interrupts;
	_cleanup_free_ double *rates = xcalloc(after->count, sizeof(*rates));
	double total = 0;

	if (!run->counters_valid)
		return;
	for (size_t i = 0; i < after->count; i++) {
		rates[i] = figures_rate(run, &run->before.interrupts, after, i, column);
		total += rates[i];
	}
	fprintf(file, "  interrupts      %.2f/s", total);
	for (int i = 0; i < TOP_SOURCES; i++) {
		const size_t row = highest(rates, after->count);

		if (row == after->count)
			break;
		fprintf(file, "%s%s %.2f", i ? ", " : ": ", after->rows[row].label, rates[row]);
		rates[row] = 0;
	}
	fprintf(file, "\n");
}

static void write_works(const struct run *run, FILE *file)
{
	_cleanup_free_ char *cpus = cpulist_format(&run->setup.measured);
	const struct moments *products = &run->products;

	for (size_t i = 0; i < run->work_count; i++) {
		const struct work_result *result = run->works[i];

		if (result->time.count)
			fprintf(file,
				"work %s on CPU %u: mean %.0f ns, deviation %.0f ns, p99 %" PRIu64
				" ns, longest %" PRIu64 " ns\n",
				work_name(result->kind), result->cpu, result->time.mean,
				sqrt(moments_variance(&result->time)),
				hist_value_at(&result->hist, 0.99), result->hist.max);
	}
	for (size_t i = 0; i < run->wakeup_count; i++) {
		const struct hist *hist = &run->wakeups[i]->hist;

		fprintf(file,
			"wake-up of CPU %u: %" PRIu64 " times, late by %" PRIu64
			" ns at p50, %" PRIu64 " ns at p99.9, %" PRIu64 " ns at most\n",
			run->wakeups[i]->cpu, hist->total, hist_value_at(hist, 0.5),
			hist_value_at(hist, 0.999), hist->max);
	}
	if (products->count)
		fprintf(file,
			"throughput of CPU %s: mean %.1f matrix products/s, deviation %.1f, "
			"%" PRIu64 " runs\n",
			cpus, products->mean, sqrt(moments_variance(products)), products->count);
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
			write_pace(&detector->spin, file);
		write_interrupts(run, i, file);
	}
	if (!run->host.emulated)
		write_works(run, file);
	write_verdict(run, file);
}
