/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include "figures.h"
#include "json_value.h"

static json_t *rates_to_json(const struct run *run, const struct spin *spin, double runtime_ns)
{
	static const char *const names[SPIN_LEVELS] = { "100ns", "1us", "10us", "100us" };
	const double seconds = runtime_ns / 1e9;
	json_t *rates = json_object();

	for (int i = 0; i < SPIN_LEVELS; i++) {
		/* Below the threshold the rate is unknown, not zero. */
		const bool seen = detector_levels_ns[i] >= run->threshold_ns && seconds > 0;
		const double count = (double)spin->over[i];

		json_object_set_new(rates, names[i],
				    seen ? json_real(count / seconds) : json_null());
	}
	return rates;
}

static json_t *percentiles_to_json(const struct hist *hist, double runtime_ns)
{
	static const char *const names[] = { "p99", "p99.9", "p99.99", "p99.9999" };
	static const double quantiles[] = { 0.99, 0.999, 0.9999, 0.999999 };
	json_t *percentiles = json_object();

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_object_set_new(percentiles, names[i],
				    json_real(hist_time_weighted(hist, quantiles[i], runtime_ns)));
	return percentiles;
}

/* Rows that did not grow are left out; they add nothing to the total. */
static json_t *growth_to_json(const struct run *run, const struct counters *before,
			      const struct counters *after, size_t column, bool total)
{
	json_t *rows = json_object();
	double sum = 0;

	if (!run->counters_valid) {
		json_decref(rows);
		return json_null();
	}
	for (size_t i = 0; i < after->count; i++) {
		const double rate = figures_rate(run, before, after, i, column);

		if (rate > 0)
			json_object_set_new(rows, after->rows[i].label, json_real(rate));
		sum += rate;
	}
	if (total)
		json_object_set_new(rows, "total", json_real(sum));
	return rows;
}

static void add_counters(json_t *cpu, const struct run *run, size_t column)
{
	json_object_set_new(cpu, "interrupts_per_s",
			    growth_to_json(run, &run->before.interrupts, &run->after.interrupts,
					   column, true));
	json_object_set_new(cpu, "softirqs_per_s",
			    growth_to_json(run, &run->before.softirqs, &run->after.softirqs, column,
					   false));
}

/* Work is counted in readings of the clock: the pace of these readings varies. */
static json_t *pace_to_json(const struct run *run, const struct spin *spin)
{
	const struct hist *work = spin->work;

	if (run->host.emulated || !work || !work->total)
		return json_null();
	return json_pack("{s:i, s:I, s:{s:I, s:I, s:I, s:I, s:I}}", "window_ns", DETECTOR_WINDOW_NS,
			 "windows", (json_int_t)work->total, "work", "min", (json_int_t)work->min,
			 "p1", (json_int_t)hist_value_at(work, 0.01), "p50",
			 (json_int_t)hist_value_at(work, 0.5), "p99",
			 (json_int_t)hist_value_at(work, 0.99), "max", (json_int_t)work->max);
}

static json_t *residency_to_json(const struct power *before, const struct power *after)
{
	json_t *states = json_object();

	for (size_t i = 0; i < before->state_count && i < after->state_count; i++)
		json_object_set_new(states, after->states[i].name,
				    json_integer(after->states[i].us - before->states[i].us));
	return states;
}

static json_t *power_to_json(const struct run *run, size_t column)
{
	json_t *smi = NULL, *clocks = NULL, *khz = NULL, *governor = NULL;
	const struct power *before, *after;

	if (!run->power_before || !run->power_after)
		return json_null();
	before = &run->power_before[column];
	after = &run->power_after[column];
	/* The register is 32 bits wide. */
	if (before->has_smi && after->has_smi)
		smi = value_count((uint32_t)(after->smi - before->smi));
	if (before->has_clocks && after->has_clocks && after->mperf != before->mperf)
		clocks = json_real((double)(after->aperf - before->aperf) /
				   (double)(after->mperf - before->mperf));
	if (before->khz > 0 && after->khz > 0)
		khz = json_pack("[I, I]", (json_int_t)before->khz, (json_int_t)after->khz);
	if (*after->governor)
		governor = value_text(after->governor);
	return json_pack("{s:o?, s:o?, s:o?, s:o?, s:o}", "smi", smi, "aperf_mperf", clocks, "khz",
			 khz, "governor", governor, "idle_us", residency_to_json(before, after));
}

static struct series_point growth(const struct series *series, size_t column, size_t step)
{
	struct series_point grown = *series_point(series, column, step);

	if (step) {
		const struct series_point *before = series_point(series, column, step - 1);

		grown.noise -= before->noise;
		grown.gaps -= before->gaps;
		grown.interrupts -= before->interrupts;
		grown.clean_reads -= before->clean_reads;
		grown.clean_ticks -= before->clean_ticks;
	}
	return grown;
}

/* Readings per millisecond without gaps; 0 if all had gaps. */
static double pace_of(const struct run *run, const struct series_point *grown)
{
	const double ns = clock_ns(&run->clock, (double)grown->clean_ticks);

	return ns > 0 ? (double)grown->clean_reads * 1e6 / ns : 0;
}

static json_t *series_to_json(const struct run *run, size_t column)
{
	const struct series *series = &run->series;
	json_t *noise, *gaps, *interrupts, *pace, *khz;

	if (!series->count)
		return json_null();
	noise = json_array();
	gaps = json_array();
	interrupts = series->counted ? json_array() : json_null();
	pace = run->host.emulated ? json_null() : json_array();
	khz = series->clocked ? json_array() : json_null();
	for (size_t step = 0; step < series->count; step++) {
		const struct series_point grown = growth(series, column, step);

		json_array_append_new(noise,
				      value_whole(clock_ns(&run->clock, (double)grown.noise)));
		json_array_append_new(gaps, value_count(grown.gaps));
		json_array_append_new(pace, value_whole(pace_of(run, &grown)));
		json_array_append_new(khz, json_integer(grown.khz));
		if (series->counted)
			json_array_append_new(interrupts, value_count(grown.interrupts));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "noise_ns", noise, "gaps", gaps, "interrupts",
			 interrupts, "readings_per_ms", pace, "khz", khz);
}

static json_t *late_to_json(const struct hist *hist)
{
	static const char *const names[] = { "p50", "p99", "p99.9", "p99.99", "max" };
	static const double quantiles[] = { 0.5, 0.99, 0.999, 0.9999, 1 };
	json_t *late = json_object();

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_object_set_new(late, names[i], value_count(hist_value_at(hist, quantiles[i])));
	return late;
}

/* The delay of wake-ups; max_ticks: the begin and the end of the longest delay. */
static json_t *wakeup_to_json(const struct run *run, size_t column)
{
	const struct work_result *one;
	json_int_t length;

	if (column >= run->wakeup_count || run->wakeups[column]->error)
		return json_null();
	one = run->wakeups[column];
	length = (json_int_t)((double)one->hist.max * run->clock.hz / 1e9);
	return json_pack("{s:o, s:i, s:o, s:o, s:o, s:[I, I], s:o, s:o}", "interval_ns",
			 value_count(run->options.wakeup_ns), "thread", (int)one->tid, "samples",
			 value_count(one->hist.total), "late_ns", late_to_json(&one->hist),
			 "skipping_ns", late_to_json(&one->apart), "max_ticks",
			 (json_int_t)one->latest - length, (json_int_t)one->latest, "histogram",
			 value_hist(&one->hist), "skipping", value_hist(&one->apart));
}

static json_t *cpu_to_json(const struct run *run, const struct detector *detector, size_t column)
{
	const struct figures figures = figures_of(run, detector);
	const struct spin *spin = &detector->spin;
	json_t *cpu = json_pack(
		"{s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:[]}", "cpu",
		value_count(detector->cpu), "runtime_ns", value_whole(figures.runtime_ns),
		"noise_ns", value_whole(figures.noise_ns), "noise_ppm", figures.noise_ppm,
		"dead_ns", value_whole(figures.dead_ns), "events", value_count(spin->gaps),
		"lost_events", value_count(spin->log_lost), "max_ns", value_whole(figures.max_ns),
		"rates_per_s", rates_to_json(run, spin, figures.runtime_ns), "time_weighted_ns",
		percentiles_to_json(spin->hist, figures.runtime_ns), "histogram",
		value_hist(spin->hist), "series", series_to_json(run, column), "page_faults",
		(json_int_t)detector->page_faults, "causes");

	add_counters(cpu, run, column);
	json_object_set_new(cpu, "switches_per_s", json_real(figures.switches_per_s));
	json_object_set_new(cpu, "pace", pace_to_json(run, spin));
	json_object_set_new(cpu, "wakeup", wakeup_to_json(run, column));
	json_object_set_new(cpu, "begin_ticks", value_count(spin->begin));
	json_object_set_new(cpu, "end_ticks", value_count(spin->end));
	json_object_set_new(cpu, "unaccounted_ppm", json_real(figures.unaccounted_ppm));
	json_object_set_new(cpu, "power", power_to_json(run, column));
	return cpu;
}

json_t *result_cpus(const struct run *run)
{
	json_t *cpus = json_array();

	for (size_t i = 0; i < run->detectors.count; i++) {
		if (run->detectors.items[i].measured)
			json_array_append_new(cpus, cpu_to_json(run, &run->detectors.items[i], i));
	}
	return cpus;
}
