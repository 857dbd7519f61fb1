/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include "argument.h"
#include "load_scenario.h"
#include "second_opinion.h"
#include "work.h"

static json_t *names_to_json(name_of *name)
{
	json_t *names = json_array();

	for (size_t row = 0; name(row); row++)
		json_array_append_new(names, json_string(name(row)));
	return names;
}

static json_t *opinions_to_json(void)
{
	json_t *opinions = json_array();

	for (size_t row = 0; opinion_name(row); row++) {
		const struct opinion_tool *tool = opinion_tool(row);

		json_array_append_new(
			opinions,
			json_pack("{s:s, s:s, s:s, s:s, s:s, s:s?, s:s?, s:s}", "name", tool->name,
				  "program", tool->program, "package", tool->package, "arguments",
				  tool->arguments, "realtime", tool->realtime, "rr", tool->rr,
				  "other", tool->other, "needs", tool->needs));
	}
	return opinions;
}

void tools_write(FILE *file)
{
	json_t *root = json_pack("{s:o, s:o, s:o, s:{s:I, s:I, s:I}}", "second_opinions",
				 opinions_to_json(), "loads", names_to_json(load_scenario_name),
				 "work", names_to_json(work_name), "longest_s", "second_opinion",
				 (json_int_t)(OPINION_LONGEST_NS / NS_PER_S), "work",
				 (json_int_t)(WORK_LONGEST_NS / NS_PER_S), "throughput",
				 (json_int_t)(LOAD_THROUGHPUT_NS / NS_PER_S));

	/* The caller asks the file for errors. */
	json_dumpf(root, file, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	fputc('\n', file);
	json_decref(root);
}
