/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private folders: locked by the process that made them, removed once no process locks them. */
#include "scratch.h"
#include "tap.h"
#include "tree.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static bool exists(const char *root, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	return access(path, F_OK) == 0;
}

static const char *name_of(const struct scratch *scratch)
{
	return strrchr(scratch->path, '/') + 1;
}

static void test_sweep(const char *root)
{
	struct scratch held = { 0 }, killed = { 0 }, next = { 0 };
	char link[PATH_MAX];

	ok(!scratch_init(&held) && !scratch_init(&killed), "two");
	tree_put(killed.path, "below/file", "text", 4);
	/* As the end of its process does. */
	close(killed.held);
	tree_put(root, "lowlat-measure-others/file", "text", 4);
	tree_put(root, "kept/file", "text", 4);
	snprintf(link, sizeof(link), "%s/.lowlat-measure-link", root);
	ok(!symlink("kept", link), "a link");

	ok(!scratch_init_on_disk(&next), "another one");
	ok(!exists(root, name_of(&killed)), "what nobody holds is gone");
	ok(exists(root, name_of(&held)), "what is held stays");
	ok(exists(root, "lowlat-measure-others/file"), "what is not ours stays");
	ok(exists(root, "kept/file"), "and what a link leads to");
	scratch_deinit(&next);
	scratch_deinit(&held);
	ok(!held.path[0] && !next.path[0], "both are gone at their end");
	unlink(link);
}

/* A reaper outlives a harness that was killed, and removes the folder itself. */
static void test_child_holds(const char *root)
{
	struct scratch scratch = { 0 }, next = { 0 };
	pid_t pid;

	if (scratch_init(&scratch))
		abort();
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	close(scratch.held);
	scratch_init(&next);
	scratch_deinit(&next);
	ok(exists(root, name_of(&scratch)), "a child holds it too");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	scratch_init(&next);
	scratch_deinit(&next);
	ok(!exists(root, name_of(&scratch)), "and no longer than it lives");
}

int main(void)
{
	char root[TREE_PATH];

	tree_make(root);
	setenv("TMPDIR", root, 1);
	test_sweep(root);
	test_child_holds(root);
	tree_remove(root);
	return tap_end();
}
