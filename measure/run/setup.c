/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "setup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "cleanup.h"
#include "policy.h"
#include "output.h"

/* The kernel's default limit of CPU time for deadline tasks. */
#define DEADLINE_SHARE_MAX 0.95

static int check_online(const char *option, const struct cpulist *cpus, const struct host *host)
{
	_cleanup_free_ char *given = cpulist_format(cpus), *online = cpulist_format(&host->online);
	const unsigned int *outside = cpulist_outside(cpus, &host->online);

	if (!outside)
		return 0;
	return refuse("--%s '%.80s': CPU %u is not online; choose from %.80s", option, given,
		      *outside, online);
}

/* The CPUs that detectors can have: those of the group, if there is one. */
static int find_reach(const struct options *options, const struct host *host, struct cpulist *ret)
{
	_cleanup_free_ char *text = NULL;

	if (!options->group) {
		*ret = cpulist_copy(&host->allowed);
		return 0;
	}
	text = text_read_trimmed("%s/cpuset.cpus.effective", options->group);
	if (text && !cpulist_parse(text, ret) && ret->count)
		return 0;
	return refuse("--group '%.200s': its cpuset.cpus.effective can't be read; name the folder "
		      "of a control group with CPUs",
		      options->group);
}

static int choose_measured(const struct options *options, const struct host *host,
			   const struct cpulist *reach, struct cpulist *ret)
{
	const struct cpulist lowest = { .cpus = reach->cpus, .count = 1 };

	if (options->cpus.count) {
		*ret = cpulist_copy(&options->cpus);
		return check_online("cpus", ret, host);
	}
	*ret = cpulist_and(reach, &host->isolated);
	if (!ret->count) {
		cpulist_deinit(ret);
		*ret = cpulist_minus(reach, &lowest);
	}
	if (!ret->count)
		return refuse("--cpus: only CPU %u is allowed, none is left beside it; name it "
			      "with --cpus to measure it nevertheless",
			      reach->cpus[0]);
	return 0;
}

static int choose_load(const struct options *options, const struct host *host, struct setup *setup)
{
	const struct cpulist *given = &options->load_cpus.list;
	int err = check_online("load-cpus", given, host);

	if (err || !options->load)
		return err;
	if (given->count || options->load_cpus.all)
		setup->load = cpulist_copy(given->count ? given : &host->allowed);
	else
		setup->load = cpulist_minus(&host->allowed, &setup->measured);
	if (!setup->load.count)
		return refuse("--load %s: every allowed CPU is measured, none is left for the "
			      "load; measure fewer or name some with --load-cpus",
			      options->load->name);
	return 0;
}

bool setup_leaves_one(const struct cpulist *measured, const struct cpulist *allowed,
		      const struct cpulist *isolated)
{
	struct cpulist serving = cpulist_minus(allowed, isolated);
	const bool one = cpulist_outside(serving.count ? &serving : allowed, measured);

	cpulist_deinit(&serving);
	return one;
}

/* A deadline spinner leaves the rest of its period to other tasks. */
static bool takes_all(const struct policy *policy)
{
	return policy->priority ||
	       (double)policy->runtime_ns > DEADLINE_SHARE_MAX * (double)policy->period_ns;
}

/* A real-time spinner on all CPUs that serve the system would stop the machine. */
static int check_policy(const struct options *options, const struct host *host,
			const struct setup *setup)
{
	char policy[POLICY_TEXT_MAX];

	if (takes_all(&options->policy) &&
	    !setup_leaves_one(&setup->measured, &host->allowed, &host->isolated))
		return refuse("--policy %s: would leave no CPU for the system; measure fewer CPUs "
			      "or use --policy other",
			      policy_format(&options->policy, policy));
	return policy_check(&options->policy, &setup->measured, &host->online);
}

static int check_allowed(const char *option, const struct cpulist *cpus,
			 const struct cpulist *allowed)
{
	const unsigned int *outside = cpulist_outside(cpus, allowed);

	if (!outside)
		return 0;
	return refuse("--%s: CPU %u is not allowed here; leave its cpuset or choose another CPU",
		      option, *outside);
}

static int check_written(const char *option, const char *path, int err, const char *instead)
{
	if (err >= 0)
		return 0;
	return refuse("--%s '%.200s': can't be written (%s); name %s", option, path, strerror(-err),
		      instead);
}

static int check_output(const char *option, const char *path)
{
	return check_written(option, path, path ? output_check(path) : 0,
			     "a file in a writable folder");
}

static int check_capture(const char *path)
{
	static const struct {
		int err;
		const char *words;
	} known[] = {
		{ -ENOENT, "there is no such folder; make it first" },
		{ -ELOOP, "a symbolic link; name the folder itself" },
		{ -EEXIST, "holds a capture already; name an empty folder" },
	};
	const int folder = path ? capture_folder_open(path) : 0;

	if (path && folder >= 0)
		close(folder);
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (folder == known[i].err)
			return refuse("--capture '%.200s': %s", path, known[i].words);
	}
	return check_written("capture", path, folder, "a folder that you can write");
}

/* In the order in which they are reported. */
static int check_all(const struct options *options, const struct host *host,
		     const struct cpulist *reach, struct setup *setup)
{
	const bool refused =
		choose_load(options, host, setup) || check_output("json", options->json) ||
		check_output("events", options->events) || check_capture(options->capture) ||
		check_allowed("load-cpus", &setup->load, &host->allowed) ||
		check_allowed("cpus", &setup->measured, reach) ||
		check_policy(options, host, setup);

	return refused ? -EINVAL : 0;
}

static int bind_harness(const struct setup *setup)
{
	return cpulist_bind(setup->rest.count ? &setup->rest : &setup->measured);
}

int setup_resolve(const struct options *options, const struct host *host, struct setup *ret)
{
	struct cpulist reach = { 0 };
	int err;

	*ret = (struct setup){ 0 };
	err = find_reach(options, host, &reach);
	if (!err)
		err = choose_measured(options, host, &reach, &ret->measured);
	if (!err) {
		ret->rest = cpulist_minus(&reach, &ret->measured);
		err = check_all(options, host, &reach, ret);
	}
	cpulist_deinit(&reach);
	if (!err && !options->group)
		bind_harness(ret);
	return err;
}

int setup_enter(const struct options *options, const struct setup *setup)
{
	_cleanup_free_ char *path = text_format("%s/cgroup.procs", options->group);
	int err = text_write(AT_FDCWD, path, "0");

	return err ? err : bind_harness(setup);
}

void setup_write(const struct setup *setup, FILE *file)
{
	_cleanup_free_ char *measured = cpulist_format(&setup->measured);
	_cleanup_free_ char *load = cpulist_format(&setup->load);
	_cleanup_free_ char *rest = cpulist_format(&setup->rest);

	fprintf(file, "measured: %s\nload: %s\nrest: %s\n", measured, load, rest);
}

void setup_deinit(struct setup *setup)
{
	cpulist_deinit(&setup->measured);
	cpulist_deinit(&setup->load);
	cpulist_deinit(&setup->rest);
}
