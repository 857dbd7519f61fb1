/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "load_tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "cleanup.h"

static int ask(const struct scratch *scratch, const char *option, char **ret)
{
	char *const argv[] = { "stress-ng", (char *)option, NULL };
	int err = child_ask(argv, scratch, ret);

	return err || *ret ? err : -EPROTO;
}

int load_tool_init(const struct scratch *scratch, struct load_tool *ret)
{
	_cleanup_free_ char *text = NULL;
	int err = ask(scratch, "--version", &text);

	*ret = (struct load_tool){ 0 };
	if (!err)
		err = ask(scratch, "--help", &ret->help);
	if (!err) {
		ret->version = text_word_after(text, "version ", " \t\n");
		err = ret->version ? 0 : -EPROTO;
	}
	return err;
}

void load_tool_deinit(struct load_tool *tool)
{
	free(tool->version);
	free(tool->help);
	*tool = (struct load_tool){ 0 };
}

bool load_tool_knows(const struct load_tool *tool, const char *name)
{
	static const char in_names[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	const size_t length = strlen(name);

	for (const char *c = strstr(tool->help, "--"); c; c = strstr(c + 2, "--")) {
		if (strspn(c + 2, in_names) == length && !strncmp(c + 2, name, length))
			return true;
	}
	return false;
}
