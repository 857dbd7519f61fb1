/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "program.h"
#include "tap.h"
#include "tree.h"

#include <errno.h>

#define USER 1000

static void place(const char *root, const char *name, bool runs)
{
	char path[256];

	tree_put(root, name, "", 0);
	snprintf(path, sizeof(path), "%s/%s", root, name);
	chmod(path, runs ? 0755 : 0644);
}

static int found_in(const char *root, const char *folders, char ret[PATH_MAX])
{
	char path[PATH_MAX], list[PATH_MAX];

	snprintf(list, sizeof(list), folders, root, root);
	const int err = program_find("tool", list, path);

	snprintf(ret, PATH_MAX, "%s", err ? "" : path + strlen(root));
	return err;
}

static void test_order(const char *root)
{
	char path[PATH_MAX];

	place(root, "a/tool", false);
	place(root, "b/tool", true);
	place(root, "c/tool", true);
	ok(!found_in(root, "%s/a:%s/b", path), "found");
	ok(!strcmp(path, "/b/tool"), "the first that may run");
	ok(!found_in(root, "/missing:%s/c:%s/b", path), "found behind a missing folder");
	ok(!strcmp(path, "/c/tool"), "in the order of the folders");
	ok(found_in(root, "/missing", path) == -ENOENT, "none");
}

/* What an ordinary user can change is passed over by root. */
static void test_others(const char *root)
{
	static const char *const places[] = { "b", "b/tool" };
	char path[PATH_MAX], weak[256], link[256];

	for (size_t i = 0; i < 2; i++) {
		snprintf(weak, sizeof(weak), "%s/%s", root, places[i]);
		if (lchown(weak, USER, USER))
			abort();
		ok(!found_in(root, "%s/b:%s/c", path), "another is found");
		ok(!strcmp(path, "/c/tool"), "others than root own it");
		ok(found_in(root, "%s/b", path) == -EACCES, "there is no other");
		if (lchown(weak, 0, 0) || chmod(weak, 0777))
			abort();
		ok(found_in(root, "%s/b", path) == -EACCES, "others may write it");
		chmod(weak, 0755);
		ok(!found_in(root, "%s/b", path), "root's again");
	}
	snprintf(link, sizeof(link), "%s/c/link", root);
	snprintf(weak, sizeof(weak), "%s/b", root);
	if (symlink("../b/./tool", link))
		abort();
	ok(program_held(link), "a link to root's");
	if (lchown(weak, USER, USER))
		abort();
	ok(!program_held(link), "the folder of a link's target counts");
	if (lchown(weak, 0, 0) || lchown(link, USER, USER))
		abort();
	ok(!program_held(link), "another user's link");
	unlink(link);
	if (symlink("link", link))
		abort();
	ok(!program_held(link), "a ring of links");
	ok(!program_held("tool"), "a path from the current folder");
}

int main(void)
{
	char root[TREE_PATH];

	tree_make(root);
	test_order(root);
	if (geteuid() == 0)
		test_others(root);
	else
		printf("# skipped: only root passes programs over\n");
	tree_remove(root);
	return tap_end();
}
