/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cpulist.h"
#include "tap.h"

#include <errno.h>

#include "cleanup.h"

static void check_format(const char *text, const char *want)
{
	struct cpulist list = { 0 };
	_cleanup_free_ char *got = NULL;

	if (cpulist_parse(text, &list) == 0)
		got = cpulist_format(&list);
	is_text(got, want, text);
	cpulist_deinit(&list);
}

static void check_error(const char *text, int want)
{
	struct cpulist list = { 0 };
	int got = cpulist_parse(text, &list);

	ok(got == want, "'%s' gives %d", text, want);
	cpulist_deinit(&list);
}

static void test_sets(void)
{
	struct cpulist a, b, minus, both;

	cpulist_parse("0-5,9", &a);
	cpulist_parse("2-3,9-10", &b);
	minus = cpulist_minus(&a, &b);
	ok(minus.count == 4 && !cpulist_has(&minus, 9), "minus");
	both = cpulist_and(&a, &b);
	ok(both.count == 3 && cpulist_has(&both, 9), "and");
	ok(!cpulist_outside(&both, &a) && cpulist_outside(&b, &a), "outside");
	cpulist_deinit(&a);
	cpulist_deinit(&b);
	cpulist_deinit(&minus);
	cpulist_deinit(&both);
}

int main(void)
{
	static const char *const malformed[] = { ",", "1,", ",1",  "1,,2",  "1-",  "-1", "3-1",
						 "a", "1a", "1 2", "1-2-3", "0x1", "+1", "1, 2" };

	check_format("", "");
	check_format("\n", "");
	check_format("0", "0");
	check_format("0-3,8\n", "0-3,8");
	check_format("8,3,1,2,0,2", "0-3,8");
	check_format("1,3,5", "1,3,5");
	check_format("0-8191", "0-8191");
	for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); i++)
		check_error(malformed[i], -EINVAL);
	check_error("8192", -ERANGE);
	check_error("0-99999999999999999999", -ERANGE);
	test_sets();
	return tap_end();
}
