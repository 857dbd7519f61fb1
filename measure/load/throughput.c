/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "throughput.h"

#include <stdlib.h>

#include "units.h"
#include "xalloc.h"

int throughput_init(unsigned int cpu, size_t count, const struct scratch *scratch,
		    struct throughput *ret)
{
	const struct cpulist one = { .cpus = &cpu, .count = 1 };

	*ret = (struct throughput){
		.runs = xcalloc(count, sizeof(*ret->runs)),
		.cpu = cpulist_copy(&one),
	};
	return load_tool_init(scratch, &ret->tool);
}

int throughput_start(struct throughput *throughput, uint64_t seed, const struct scratch *scratch)
{
	const struct load_options options = {
		.scenario = &load_throughput,
		.tool = &throughput->tool,
		.cpus = &throughput->cpu,
		.confined = true,
		.scratch = scratch,
		.seed = seed,
		.limit_ns = THROUGHPUT_S * NS_PER_S - 1,
	};
	struct load *run = &throughput->runs[throughput->count];
	int err = load_start(&options, run);

	if (err)
		load_deinit(run);
	throughput->count += !err;
	return err;
}

size_t throughput_mean(const struct throughput *throughput, double *mean, double *variance)
{
	double sum = 0, apart = 0;
	size_t count = 0;

	for (size_t i = 0; i < throughput->count; i++) {
		sum += load_rate(&throughput->runs[i]);
		count += load_rate(&throughput->runs[i]) > 0;
	}
	*mean = count ? sum / (double)count : 0;
	for (size_t i = 0; i < throughput->count; i++) {
		const double rate = load_rate(&throughput->runs[i]);

		if (rate > 0)
			apart += (rate - *mean) * (rate - *mean);
	}
	*variance = count > 1 ? apart / (double)(count - 1) : 0;
	return count;
}

void throughput_deinit(struct throughput *throughput)
{
	for (size_t i = 0; i < throughput->count; i++)
		load_deinit(&throughput->runs[i]);
	free(throughput->runs);
	cpulist_deinit(&throughput->cpu);
	load_tool_deinit(&throughput->tool);
}
