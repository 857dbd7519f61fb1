/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"
#include "refusal.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "units.h"

#define ARGS_MAX 16

static struct options options;
static char *refusal;

static int parse(const char *const *args)
{
	char *argv[ARGS_MAX] = { "lowlat-measure" };
	int argc = 1;

	for (; args[argc - 1]; argc++)
		argv[argc] = (char *)args[argc - 1];
	options_deinit(&options);
	free(refusal);
	return parse_saying(argc, argv, &options, &refusal);
}

#define PARSE(...) parse((const char *const[]){ __VA_ARGS__, NULL })

static void check_refused(const char *option, const char *value, const char *want)
{
	const int err = PARSE(option, value);

	ok(err == -EINVAL && strstr(refusal, want) && !strchr(refusal, '\n'), "%s '%s': %s", option,
	   value ? value : "(none)", refusal);
}

static void test_times(void)
{
	uint64_t ns;
	char text[32];

	ok(!parse_time("100ns", &ns) && ns == 100, "ns");
	ok(!parse_time("1us", &ns) && ns == 1000, "us");
	ok(!parse_time("10ms", &ns) && ns == 10 * NS_PER_MS, "ms");
	ok(!parse_time("10s", &ns) && ns == 10 * NS_PER_S, "s");
	ok(!parse_time("5m", &ns) && ns == 300 * NS_PER_S, "m");
	ok(!parse_time("24h", &ns) && ns == 86400 * NS_PER_S, "h");
	ok(parse_time("10", &ns) == -EINVAL, "a unit is needed");
	ok(parse_time("s", &ns) == -EINVAL, "a number is needed");
	ok(parse_time("-1s", &ns) == -EINVAL, "no sign");
	ok(parse_time(" 1s", &ns) == -EINVAL, "no blank before");
	ok(parse_time("1s ", &ns) == -EINVAL, "no blank behind");
	ok(parse_time("1e3s", &ns) == -EINVAL, "no exponent");
	ok(parse_time("18446744073709551615s", &ns) == -ERANGE, "product too large");
	ok(parse_time("99999999999999999999999ns", &ns) == -ERANGE, "number too large");
	is_text(format_time(90 * NS_PER_S, text, sizeof(text)), "90s", "90s");
	is_text(format_time(86400 * NS_PER_S, text, sizeof(text)), "24h", "24h");
	is_text(format_time(0, text, sizeof(text)), "0ns", "0ns");
}

static void test_accepted(void)
{
	ok(!PARSE("--cpus", "1-2", "--duration=3s") && options.cpus.count == 2 &&
		   options.duration_ns == 3 * NS_PER_S,
	   "value behind or joined");
	ok(options.warmup_ns == 5 * NS_PER_S && options.threshold_ns == 100 && options.seed == 1 &&
		   !options.load && options.policy.kind == POLICY_OTHER &&
		   options.oslat == OSLAT_IF_INSTALLED,
	   "defaults");
	ok(!PARSE("--json") && !strcmp(options.json, "-"), "--json alone is standard output");
	ok(!PARSE("--json", "--no-oslat") && !strcmp(options.json, "-") &&
		   options.oslat == OSLAT_OFF,
	   "--json before another option too");
	ok(!PARSE("--json", "-") && !strcmp(options.json, "-"), "--json -");
	ok(!PARSE("--json", "x.json") && !strcmp(options.json, "x.json"), "--json FILE");
	ok(!PARSE("--policy", "fifo:99") && options.policy.kind == POLICY_FIFO &&
		   options.policy.priority == 99,
	   "fifo:99");
	ok(!PARSE("--policy", "deadline:5ms/10ms") && options.policy.kind == POLICY_DEADLINE &&
		   options.policy.runtime_ns == 5 * NS_PER_MS &&
		   options.policy.period_ns == 10 * NS_PER_MS,
	   "deadline:5ms/10ms");
	ok(!PARSE("--policy", "rr:1") && options.policy.kind == POLICY_RR &&
		   options.policy.priority == 1,
	   "rr:1");
	ok(!options.wakeup_ns && !PARSE("--wakeup") && options.wakeup_ns == NS_PER_MS,
	   "--wakeup alone is each millisecond");
	ok(!PARSE("--wakeup", "50us") && options.wakeup_ns == 50 * NS_PER_US, "--wakeup TIME");
	ok(!PARSE("--load", "none") && !options.load, "--load none");
	ok(!PARSE("--load", "mixed") && options.load, "--load mixed");
	ok(!PARSE("--seed", "1") && !options.emulated, "not emulated unless told");
	ok(!PARSE("--emulated") && options.emulated, "--emulated");
	ok(!options.stop_on_ns && !PARSE("--stop-on", "1ms") && options.stop_on_ns == NS_PER_MS,
	   "--stop-on");
	ok(!options.on_gap_ns && !PARSE("--on-gap", "1ms") && options.on_gap_ns == NS_PER_MS,
	   "--on-gap");
	ok(options.phases == -1 && !PARSE("--phases", "2") && options.phases == 2, "--phases");
	ok(!PARSE("--warmup", "0s") && options.warmup_ns == 0, "no warm-up");
	ok(!PARSE("--cpus", "1", "--cpus", "2-4") && options.cpus.count == 3,
	   "the last one counts");
}

static void test_refused(void)
{
	int err;

	check_refused("--cpus", "1,,2", "not a CPU list");
	check_refused("--cpus", "", "names no CPU; leave it out");
	check_refused("--cpus", "9999", "above 8191");
	check_refused("--cpus", NULL, "value is missing");
	check_refused("--duration", "0s", "1ms to 24h");
	check_refused("--duration", "25h", "1ms to 24h");
	check_refused("--duration", "10", "not a time");
	check_refused("--warmup", "2h", "0ns to 1h");
	check_refused("--threshold", "49ns", "50ns to 1s");
	check_refused("--stop-on", "0s", "50ns to 1h");
	check_refused("--on-gap", "49ns", "50ns to 1h");
	check_refused("--on-gap=1ms", "--follow", "leave one of them out");
	check_refused("--policy", "fifo:0", "N from 1 to 99");
	check_refused("--policy", "fifo:100", "N from 1 to 99");
	check_refused("--policy", "rr", "N from 1 to 99");
	check_refused("--wakeup", "49us", "50us to 1s");
	check_refused("--wakeup=", "", "not a time");
	check_refused("--load", "heavy", "unknown scenario; use one of");
	check_refused("--load-cpus", "x", "not a CPU list");
	check_refused("--seed", "-1", "whole number");
	check_refused("--seed", "9223372036854775808", "whole number");
	check_refused("--json", "", "no file name");
	check_refused("--events", "-", "not a file");
	check_refused("--phases", "x", "not the number of a descriptor that is open for writing");
	check_refused("--phases", "-1", "open for writing");
	check_refused("--phases", "999999", "open for writing");
	check_refused("--phases", "4294967298", "open for writing");
	check_refused("--unknown", NULL, "unknown option");
	check_refused("--cpu", "1", "unknown option");
	check_refused("--no-oslat=1", NULL, "takes no value");
	check_refused("extra", NULL, "unexpected argument");
	check_refused("--", NULL, "unexpected argument");
	err = PARSE("--json", "a", "--events", "a");
	ok(err == -EINVAL && strstr(refusal, "the same file"), "%s", refusal);
	err = PARSE("--phases", "1", "--json");
	ok(err == -EINVAL && strstr(refusal, "holds the figures"), "%s", refusal);
	err = PARSE("--follow", "--phases", "1");
	ok(err == -EINVAL && strstr(refusal, "holds the figures"), "%s", refusal);
}

int main(void)
{
	test_times();
	test_accepted();
	test_refused();
	options_deinit(&options);
	free(refusal);
	return tap_end();
}
