/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsers under mutated input: a bounded number of mutations, the same in every run. Accepted input
 * must have its meaning; the sanitizers' builds check the memory accesses.
 */
#include "counters.h"
#include "cpulist.h"
#include "host.h"
#include "options.h"
#include "policy.h"
#include "refusal.h"
#include "tap.h"
#include "units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define ROUNDS 40000
#define TEXT_MAX 512

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

/* xorshift64*: the same everywhere, unlike rand(). */
static uint64_t random_below(uint64_t limit)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * UINT64_C(2685821657736338717) >> 11) % limit;
}

static const char *const fragments[] = {
	"0", "1",     "9",	   "8191", "8192", "99999999999999999999",
	"-", ",",     ":",	   "/",	   "\n",   "\t",
	" ", "ns",    "us",	   "ms",   "s",	   "m",
	"h", "fifo:", "deadline:", "CPU0", "LOC:", "--",
	"=", "\x80",  "",
};

static void cut(char *text, size_t at)
{
	memmove(text + at, text + at + 1, strlen(text + at + 1) + 1);
}

static void insert(char *text, size_t at, const char *what)
{
	const size_t length = strlen(what);

	if (strlen(text) + length + 1 > TEXT_MAX)
		return;
	memmove(text + at + length, text + at, strlen(text + at) + 1);
	memcpy(text + at, what, length);
}

static void mutate(char *text)
{
	for (uint64_t i = random_below(6); i > 0; i--) {
		const size_t length = strlen(text), at = random_below(length + 1);

		if (random_below(3) == 0 && at < length)
			cut(text, at);
		else if (random_below(2) && at < length)
			text[at] = (char)(1 + random_below(255));
		else
			insert(text, at,
			       fragments[random_below(sizeof(fragments) / sizeof(*fragments))]);
	}
}

static void make_text(char ret[TEXT_MAX], const char *const *seeds, size_t count)
{
	snprintf(ret, TEXT_MAX, "%s", seeds[random_below(count)]);
	mutate(ret);
}

#define MAKE_TEXT(ret, seeds) make_text((ret), (seeds), sizeof(seeds) / sizeof(*(seeds)))

static void fuzz_cpulist(void)
{
	static const char *const seeds[] = { "0-3", "1,3-5,8191", "", "0,2,4,6-9\n", "5" };
	uint64_t accepted = 0, broken = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct cpulist first, second;
		char text[TEXT_MAX], *written;

		MAKE_TEXT(text, seeds);
		if (cpulist_parse(text, &first))
			continue;
		accepted++;
		written = cpulist_format(&first);
		if (cpulist_parse(written, &second)) {
			broken++;
		} else {
			broken += cpulist_outside(&second, &first) ||
				  cpulist_outside(&first, &second);
			cpulist_deinit(&second);
		}
		for (size_t j = 0; j < first.count; j++)
			broken += first.cpus[j] >= CPULIST_MAX ||
				  (j && first.cpus[j] <= first.cpus[j - 1]);
		free(written);
		cpulist_deinit(&first);
	}
	ok(accepted > 1000 && !broken,
	   "CPU lists: %" PRIu64 " accepted, all ascending and written back", accepted);
}

static void fuzz_units(void)
{
	static const char *const seeds[] = { "100ns", "10s", "5m",
					     "24h",   "0us", "18446744073709551615ns" };
	uint64_t accepted = 0, broken = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_MAX], written[64];
		uint64_t ns, again;

		MAKE_TEXT(text, seeds);
		parse_u64(text, &ns);
		if (parse_time(text, &ns))
			continue;
		accepted++;
		broken += parse_time(format_time(ns, written, sizeof(written)), &again) != 0 ||
			  again != ns;
	}
	ok(accepted > 1000 && !broken, "times: %" PRIu64 " accepted, all written back", accepted);
}

static void fuzz_policy(void)
{
	static const char *const seeds[] = { "other", "fifo:1", "fifo:99", "deadline:5ms/10ms" };
	uint64_t accepted = 0, broken = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_MAX], written[POLICY_TEXT_MAX];
		struct policy first, second;

		MAKE_TEXT(text, seeds);
		if (policy_parse(text, &first))
			continue;
		accepted++;
		broken += policy_parse(policy_format(&first, written), &second) != 0 ||
			  first.kind != second.kind || first.priority != second.priority ||
			  first.runtime_ns != second.runtime_ns ||
			  first.period_ns != second.period_ns;
	}
	ok(accepted > 1000 && !broken, "policies: %" PRIu64 " accepted, all written back",
	   accepted);
}

static void fuzz_counters(void)
{
	static const char *const seeds[] = {
		"           CPU0       CPU1\n  0:         36          0   IO-APIC   2-edge      timer\n"
		" 36:          0     123456   PCI-MSIX-0000:00:01.0   1-edge      virtio1-req.0\n"
		"NMI:          0          0   Non-maskable interrupts\n"
		"LOC:    1234567    7654321   Local timer interrupts\nERR:          0\nMIS:          0\n",
		"                    CPU0       CPU1\n          HI:          1          0\n"
		"       TIMER:    1000000     999999\n",
	};
	static unsigned int ids[] = { 0, 1 };
	const struct cpulist cpus = { .cpus = ids, .count = 2 };
	uint64_t accepted = 0, sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		struct counters counters = { 0 };
		char text[TEXT_MAX];

		MAKE_TEXT(text, seeds);
		if (counters_parse(text, &cpus, &counters) == 0) {
			accepted++;
			for (size_t row = 0; row < counters.count; row++)
				sum += strlen(counters.rows[row].label) +
				       counters.rows[row].counts[1];
		}
		counters_deinit(&counters);
	}
	ok(accepted > 1000 && sum, "counters: %" PRIu64 " accepted", accepted);
}

static void fuzz_meminfo(void)
{
	static const char *const seeds[] = {
		"MemTotal:       24676644 kB\nMemFree:         1234 kB\nMemAvailable:   22000000 kB\n",
		"MemAvailable:",
		"",
	};
	uint64_t found = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char text[TEXT_MAX];

		MAKE_TEXT(text, seeds);
		found += text_count_after(text, "\nMemAvailable:") > 0;
	}
	ok(found > 1000, "meminfo: %" PRIu64 " found", found);
}

static void fuzz_options(void)
{
	static const char *const seeds[] = {
		"--cpus=1-3",	   "--duration=10s",
		"--warmup=0s",	   "--threshold=100ns",
		"--policy=fifo:1", "--policy=deadline:5ms/10ms",
		"--load=mixed",	   "--load-cpus=0",
		"--label=x",	   "--seed=1",
		"--json",	   "--json=-",
		"--events=file",   "--emulated",
		"--no-oslat",	   "1-3",
		"100ns",
	};
	uint64_t accepted = 0, broken = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char texts[3][TEXT_MAX];
		char *argv[] = { "lowlat-measure", texts[0], texts[1], texts[2], NULL };
		struct options options;
		char *said;
		int err;

		for (int j = 0; j < 3; j++)
			snprintf(texts[j], TEXT_MAX, "%s",
				 seeds[random_below(sizeof(seeds) / sizeof(*seeds))]);
		mutate(texts[random_below(3)]);
		err = parse_saying(4, argv, &options, &said);
		accepted += !err;
		broken += err &&
			  (err != -EINVAL || !*said || strchr(said, '\n') || !strchr(said, ';'));
		free(said);
		broken += !err && (options.threshold_ns < 50 || options.duration_ns < NS_PER_MS);
		options_deinit(&options);
	}
	ok(accepted > 1000 && !broken,
	   "options: %" PRIu64 " accepted, each refusal one line that says what to do", accepted);
}

int main(void)
{
	fuzz_cpulist();
	fuzz_units();
	fuzz_policy();
	fuzz_counters();
	fuzz_meminfo();
	fuzz_options();
	return tap_end();
}
