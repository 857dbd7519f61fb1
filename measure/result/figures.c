/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "figures.h"

#include "steps.h"

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

struct figures figures_of(const struct run *run, const struct detector *detector)
{
	const struct spin *spin = &detector->spin;
	const struct clock_source *clock = &run->clock;
	const double floor = detector->floor[1] < detector->floor[0] ? detector->floor[1] :
								       detector->floor[0];
	struct figures figures = {
		.runtime_ns = clock_ns(clock, (double)(spin->end - spin->begin)),
		.noise_ns = clock_ns(clock, (double)spin->noise),
		.dead_ns = clock_ns(clock, (double)spin->dead),
		.max_ns = clock_ns(clock, (double)spin->max),
		.floor_ns = clock_ns(clock, floor),
	};

	figures.noise_ppm = 1e6 * ratio(figures.noise_ns, figures.runtime_ns - figures.dead_ns);
	figures.unaccounted_ppm = 1e6 * check_unaccounted(spin);
	figures.events_per_s = 1e9 * ratio((double)spin->gaps, figures.runtime_ns);
	figures.switches_per_s = 1e9 * ratio((double)detector->switches, figures.runtime_ns);
	figures.loop_period_ns = ratio(figures.runtime_ns - figures.noise_ns - figures.dead_ns,
				       (double)(spin->reads - spin->gaps));
	return figures;
}

double figures_rate(const struct run *run, const struct counters *before,
		    const struct counters *after, size_t row, size_t column)
{
	const double window = (double)(run->after.raw_ns - run->before.raw_ns);

	return 1e9 * ratio((double)counters_growth(before, after, row, column), window);
}
