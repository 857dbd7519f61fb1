/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "child.h"
#include "tap.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "cleanup.h"
#include "text.h"
#include "units.h"

/* Starts a shell script whose output tells the process it left behind; returns that. */
static pid_t run_script(const char *script, const struct scratch *scratch, bool kill_it,
			struct child *child)
{
	char path[PATH_MAX + 16];
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	const struct child_options options = {
		.argv = argv, .output = path, .scratch = scratch, .limit_ns = 30 * NS_PER_S
	};
	_cleanup_free_ char *text = NULL;

	snprintf(path, sizeof(path), "%s/output", scratch->path);
	if (child_start(&options, child))
		return -1;
	for (int tries = 0; tries < 500 && (!text || !*text); tries++) {
		free(text);
		usleep(10000);
		text = text_read_trimmed(path);
	}
	if (kill_it)
		child_kill(child);
	else
		child_wait(child);
	remove(path);
	return text && *text ? (pid_t)strtol(text, NULL, 10) : -1;
}

static bool is_gone(pid_t pid)
{
	return pid > 1 && kill(pid, 0) != 0;
}

int main(void)
{
	/* Out of the program's process group, deaf to signals, and its parent gone. */
	static const char stray[] = "(trap '' INT TERM; exec setsid sleep 300) & echo $!; ";
	struct scratch scratch;
	struct child child = { 0 };
	char script[128];

	ok(!scratch_init(&scratch), "a private folder");
	ok(is_gone(run_script(stray, &scratch, false, &child)), "what a program leaves is killed");
	ok(child.ended && !child.late && child_exit_code(&child) == 0, "it ended by itself");
	snprintf(script, sizeof(script), "%s exec sleep 300", stray);
	ok(is_gone(run_script(script, &scratch, true, &child)), "with a killed program too");
	ok(child.ended && child.late, "that one was killed");
	scratch_deinit(&scratch);
	return tap_end();
}
