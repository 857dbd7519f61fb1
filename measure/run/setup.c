/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "setup.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "capture_folder.h"
#include "cleanup.h"
#include "policy_check.h"
#include "output.h"

/* What the kernel lets deadline tasks have at most, where it is not told otherwise. */
#define DEADLINE_SHARE_MAX 0.95

static int check_online(const char *option, const struct cpulist *cpus, const struct host *host,
			struct message *message)
{
	_cleanup_free_ char *given = cpulist_format(cpus), *online = cpulist_format(&host->online);

	for (size_t i = 0; i < cpus->count; i++) {
		if (!cpulist_has(&host->online, cpus->cpus[i]))
			return message_set(message,
					   "--%s '%.80s': CPU %u is not online; choose from %.80s",
					   option, given, cpus->cpus[i], online);
	}
	return 0;
}

static int choose_measured(const struct options *options, const struct host *host,
			   struct cpulist *ret, struct message *message)
{
	const struct cpulist lowest = { .cpus = host->allowed.cpus, .count = 1 };

	if (options->cpus.count) {
		*ret = cpulist_copy(&options->cpus);
		return check_online("cpus", ret, host, message);
	}
	*ret = cpulist_and(&host->allowed, &host->isolated);
	if (!ret->count) {
		cpulist_deinit(ret);
		*ret = cpulist_minus(&host->allowed, &lowest);
	}
	if (!ret->count)
		return message_set(message,
				   "--cpus: only CPU %u is allowed, none is left beside it; "
				   "name it with --cpus to measure it nevertheless",
				   host->allowed.cpus[0]);
	return 0;
}

static int choose_load(const struct options *options, const struct host *host, struct setup *setup,
		       struct message *message)
{
	int err = 0;

	if (options->load_cpus.count)
		err = check_online("load-cpus", &options->load_cpus, host, message);
	if (err || !options->load)
		return err;
	if (options->load_everywhere)
		setup->load = cpulist_copy(&host->allowed);
	else if (options->load_cpus.count)
		setup->load = cpulist_copy(&options->load_cpus);
	else
		setup->load = cpulist_copy(&setup->rest);
	if (!setup->load.count)
		return message_set(message,
				   "--load %s: every allowed CPU is measured, none is left for the "
				   "load; measure fewer or name some with --load-cpus",
				   options->load->name);
	return 0;
}

bool setup_leaves_one(const struct cpulist *measured, const struct cpulist *allowed,
		      const struct cpulist *isolated)
{
	struct cpulist serving = cpulist_minus(allowed, isolated);
	const bool all = cpulist_covers(measured, serving.count ? &serving : allowed);

	cpulist_deinit(&serving);
	return !all;
}

/* A deadline spinner leaves the rest of its period to others. */
static bool takes_all(const struct policy *policy)
{
	return policy->kind == POLICY_FIFO ||
	       (double)policy->runtime_ns > DEADLINE_SHARE_MAX * (double)policy->period_ns;
}

/* A real-time spinner on all CPUs that serve the system would stop the machine. */
static int check_policy(const struct options *options, const struct host *host,
			const struct setup *setup, struct message *message)
{
	char policy[POLICY_TEXT_MAX];

	if (takes_all(&options->policy) &&
	    !setup_leaves_one(&setup->measured, &host->allowed, &host->isolated))
		return message_set(message,
				   "--policy %s: would leave no CPU for the system; measure "
				   "fewer CPUs or use --policy other",
				   policy_format(&options->policy, policy));
	return policy_check(&options->policy, &setup->measured, &host->online, message);
}

static int check_allowed(const char *option, const struct cpulist *cpus, const struct host *host,
			 struct message *message)
{
	for (size_t i = 0; i < cpus->count; i++) {
		if (!cpulist_has(&host->allowed, cpus->cpus[i]))
			return message_set(message,
					   "--%s: CPU %u is not allowed here; leave its cpuset or "
					   "choose another CPU",
					   option, cpus->cpus[i]);
	}
	return 0;
}

static int check_output(const char *option, const char *path, struct message *message)
{
	int err = path ? output_check(path) : 0;

	if (err)
		return message_set(message,
				   "--%s '%.200s': can't be written (%s); name a file in a "
				   "writable folder",
				   option, path, strerror(-err));
	return 0;
}

static const char *no_capture(int err)
{
	switch (err) {
	case -ENOENT:
		return "there is no such folder; make it first";
	case -ELOOP:
		return "a symbolic link; name the folder itself";
	case -EEXIST:
		return "holds a capture already; name an empty folder";
	default:
		return NULL;
	}
}

static int check_capture(const char *path, struct message *message)
{
	const int folder = capture_folder_open(path);

	if (folder >= 0) {
		close(folder);
		return 0;
	}
	if (no_capture(folder))
		return message_set(message, "--capture '%.200s': %s", path, no_capture(folder));
	return message_set(message,
			   "--capture '%.200s': can't be written (%s); name a folder of yours",
			   path, strerror(-folder));
}

static int check_all(const struct options *options, const struct host *host, struct setup *setup,
		     struct message *message)
{
	int err = choose_load(options, host, setup, message);

	if (!err)
		err = check_output("json", options->json, message);
	if (!err)
		err = check_output("events", options->events, message);
	if (!err && options->capture)
		err = check_capture(options->capture, message);
	if (!err)
		err = check_allowed("load-cpus", &setup->load, host, message);
	if (!err)
		err = check_allowed("cpus", &setup->measured, host, message);
	if (!err)
		err = check_policy(options, host, setup, message);
	return err;
}

int setup_resolve(const struct options *options, const struct host *host, struct setup *ret,
		  struct message *message)
{
	int err;

	*ret = (struct setup){ 0 };
	err = choose_measured(options, host, &ret->measured, message);
	if (!err) {
		ret->rest = cpulist_minus(&host->allowed, &ret->measured);
		err = check_all(options, host, ret, message);
	}
	if (!err)
		cpulist_bind(ret->rest.count ? &ret->rest : &ret->measured);
	return err;
}

void setup_deinit(struct setup *setup)
{
	cpulist_deinit(&setup->measured);
	cpulist_deinit(&setup->load);
	cpulist_deinit(&setup->rest);
}
