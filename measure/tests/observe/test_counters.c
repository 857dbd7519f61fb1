/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters.h"
#include "tap.h"

#include <errno.h>
#include <stdlib.h>

#include "cleanup.h"
#include "host.h"

#define WIDE 1152

static const char small[] =
	"           CPU0       CPU2       CPU3       \n"
	"  0:         44          0          1  IR-IO-APIC    2-edge      timer\n"
	" 24:          1          2          3  IR-PCI-MSI 1-edge      xhci_hcd, ehci_hcd:usb1\n"
	" 25:          0          0          0 GICv3  27 Level     arch_timer\n"
	" 26:          4          5          6\n"
	"NMI:          7          8          9   Non-maskable interrupts\n"
	"LOC:  123456789 4294967295         10   Local timer interrupts\n"
	"IPI0:         1          1          2   Rescheduling interrupts\n"
	"ERR:          3\n"
	"MIS:          4\n"
	"THR:          1          0          5   Threshold APIC interrupts";

static const struct counter_row *find(const struct counters *counters, const char *label)
{
	for (size_t i = 0; i < counters->count; i++) {
		if (strcmp(counters->rows[i].label, label) == 0)
			return &counters->rows[i];
	}
	return NULL;
}

static void check_row(const struct counters *counters, const char *label, uint64_t a, uint64_t b)
{
	const struct counter_row *row = find(counters, label);

	ok(row && row->counts[0] == a && row->counts[1] == b, "%s", label);
}

static void test_small(void)
{
	unsigned int ids[] = { 2, 3 };
	const struct cpulist cpus = { .cpus = ids, .count = 2 };
	struct counters counters;

	ok(!counters_parse(small, &cpus, &counters) && counters.count == 8, "parsed");
	check_row(&counters, "0:timer", 0, 1);
	check_row(&counters, "24:xhci_hcd, ehci_hcd:usb1", 2, 3);
	check_row(&counters, "25:arch_timer", 0, 0);
	check_row(&counters, "26", 5, 6);
	check_row(&counters, "NMI", 8, 9);
	check_row(&counters, "LOC", 4294967295, 10);
	check_row(&counters, "IPI0", 1, 2);
	check_row(&counters, "THR", 0, 5);
	ok(!find(&counters, "ERR") && !find(&counters, "MIS"), "ERR and MIS are left out");
	counters_deinit(&counters);
}

static void test_errors(void)
{
	unsigned int absent[] = { 1 };
	const struct cpulist cpus = { .cpus = absent, .count = 1 };
	struct counters counters;

	ok(counters_parse(small, &cpus, &counters) == -ENXIO, "an offline CPU has no column");
	ok(counters_parse("", &cpus, &counters) == -EINVAL, "empty file");
	ok(counters_parse("rubbish\n1: 2\n", &cpus, &counters) == -EINVAL, "no header");
	ok(counters_parse("CPU\n", &cpus, &counters) == -EINVAL, "header without numbers");
}

static void test_growth(void)
{
	unsigned int ids[] = { 0 };
	const struct cpulist cpus = { .cpus = ids, .count = 1 };
	struct counters before, after;

	counters_parse("  CPU0\n 5: 10 x  a\nLOC: 4294967290 t\nGONE: 5 t\n 9: 90 x  c\n", &cpus,
		       &before);
	counters_parse("  CPU0\n 7: 3 x  b\n 5: 12 x  a\nLOC: 4 t\n 9: 4 x  c\n", &cpus, &after);
	ok(counters_growth(&before, &after, 0, 0) == 3, "a new row counts from 0");
	ok(counters_growth(&before, &after, 1, 0) == 2, "a row that moved is found");
	ok(counters_growth(&before, &after, 2, 0) == 10, "a 32-bit counter may wrap");
	ok(counters_growth(&before, &after, 3, 0) == 4, "a row that was made anew counts from 0");
	counters_deinit(&before);
	counters_deinit(&after);
}

static void test_wide(void)
{
	unsigned int ids[] = { 0, 575, 1151 };
	const struct cpulist cpus = { .cpus = ids, .count = 3 };
	_cleanup_free_ char *text = calloc(40, (size_t)WIDE * 12);
	struct counters counters;
	size_t used = 0;
	const struct counter_row *row;

	for (int i = 0; i < WIDE; i++)
		used += (size_t)sprintf(text + used, " %9s%d", "CPU", i);
	for (int line = 0; line < 30; line++) {
		used += (size_t)sprintf(text + used, "\n%3d:", line);
		for (int i = 0; i < WIDE; i++)
			used += (size_t)sprintf(text + used, " %10d", line * 10000 + i);
		used += (size_t)sprintf(text + used, "  PCI-MSI  %d-edge      nvme0q%d", line,
					line);
	}
	ok(!counters_parse(text, &cpus, &counters) && counters.count == 30, "1152 CPUs, %zu bytes",
	   used);
	row = find(&counters, "29:nvme0q29");
	ok(row && row->counts[0] == 290000 && row->counts[1] == 290575 && row->counts[2] == 291151,
	   "first, middle and last column");
	counters_deinit(&counters);
}

/* Whatever the text, the parser ends and stays inside; the sanitizers watch. */
static void test_damaged(void)
{
	static const char noise[] = " :\n0123456789CPU-,x\t";
	unsigned int ids[] = { 0, 3 };
	const struct cpulist cpus = { .cpus = ids, .count = 2 };
	struct counters counters;
	char text[sizeof(small)];

	srand(3);
	for (int i = 0; i < 20000; i++) {
		memcpy(text, small, sizeof(small));
		for (int hits = rand() % 8; hits >= 0; hits--)
			text[(size_t)rand() % (sizeof(text) - 1)] =
				noise[(size_t)rand() % (sizeof(noise) - 1)];
		text[(size_t)rand() % sizeof(text)] = '\0';
		if (counters_parse(text, &cpus, &counters) == 0)
			counters_deinit(&counters);
	}
	ok(true, "damaged texts");
}

static void test_live(void)
{
	unsigned int ids[] = { 0 };
	const struct cpulist cpus = { .cpus = ids, .count = 1 };
	struct counter_snapshot snapshot;
	int err = counter_snapshot_take(&cpus, &snapshot);

	ok(!err && snapshot.interrupts.count && snapshot.softirqs.count,
	   "this machine's own files");
	if (!err)
		ok(find(&snapshot.softirqs, "TIMER") != NULL, "softirqs have a row TIMER");
	counter_snapshot_deinit(&snapshot);
}

int main(void)
{
	test_small();
	test_errors();
	test_growth();
	test_wide();
	test_damaged();
	test_live();
	ok(text_count_after("MemTotal: 9 kB\nMemAvailable:   12 kB\n", "\nMemAvailable:") == 12,
	   "MemAvailable in bytes");
	ok(text_count_after("MemTotal: 9 kB\n", "\nMemAvailable:") == 0, "no MemAvailable");
	return tap_end();
}
