/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lowlat-measure: noise of the operating system on CPUs, with its sources. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "options.h"
#include "output.h"
#include "phases.h"
#include "result.h"
#include "steps.h"
#include "waits.h"

#define EXIT_PARTIAL 1
#define EXIT_REFUSED 2

typedef int (*writer)(const struct run *run, FILE *file);

/*
 * The run itself waits for these signals. A SIGHUP ignored by nohup stays ignored; SIGINT does not:
 * background jobs of a script ignore it, but it must end them. SIGCONT tells that it was stopped.
 */
static void block_signals(void)
{
	sigset_t signals = run_signals();
	struct sigaction hangup;

	if (sigaction(SIGHUP, NULL, &hangup) || hangup.sa_handler == SIG_IGN)
		sigdelset(&signals, SIGHUP);
	sigaddset(&signals, SIGIO);
	sigaddset(&signals, SIGCONT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* The reader may block the write for ever: a signal during the write ends the program. */
static void unblock_signals(FILE *file)
{
	const struct timespec now = { 0 };
	const sigset_t signals = run_signals();
	struct stat status;

	if (fstat(fileno(file), &status) || S_ISREG(status.st_mode))
		return;
	while (sigtimedwait(&signals, NULL, &now) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
}

/* Returns 0 if the whole file was written, else -errno. */
static int write_file(const struct run *run, const char *path, writer write)
{
	struct output output;
	int err;

	if (!path)
		return 0;
	err = output_open(path, &output);
	if (!err) {
		unblock_signals(output.file);
		err = output_commit(&output, write(run, output.file));
		block_signals();
	}
	if (err)
		fprintf(stderr, "lowlat-measure: '%s': can't be written (%s)\n", path,
			strerror(-err));
	return err;
}

/* If the file cannot be written the result goes to standard output: a run may have taken hours. */
static bool finish_json(const struct run *run)
{
	if (!write_file(run, run->options.json, result_write))
		return true;
	if (strcmp(run->options.json, "-") != 0) {
		fprintf(stderr, "lowlat-measure: the result is on standard output instead\n");
		unblock_signals(stdout);
		result_write(run, stdout);
	}
	return false;
}

/* Returns 0 or -errno. Prints the error, but no second one, and none if the reader has gone. */
static int finish_stdout(bool said)
{
	int err = fflush(stdout) ? -errno : ferror(stdout) ? -EIO : 0;

	if (err && !said && err != -EPIPE)
		fprintf(stderr, "lowlat-measure: standard output: can't be written (%s)\n",
			strerror(-err));
	return err;
}

static int finish(struct run *run)
{
	bool json;
	int err;

	phases_tell(run->options.phases, "writing");
	err = write_file(run, run->options.events, events_write);
	/* Before the result, which reports a missing event file. */
	if (err)
		run_partial(run, "--events: can't be written (%s), the histograms hold them all",
			    strerror(-err));
	json = finish_json(run);
	unblock_signals(stdout);
	if (json && !run->options.follow && (!run->options.json || strcmp(run->options.json, "-")))
		summary_write(run, stdout);
	if (finish_stdout(!json || run->interrupted == SIGPIPE))
		return EXIT_PARTIAL;
	if (run->interrupted)
		return 128 + run->interrupted;
	return json && run->complete && run->valid ? 0 : EXIT_PARTIAL;
}

/* What the options ask for instead of a run. */
static int answer(struct run *run)
{
	int err;

	if (run->options.help)
		options_help(stdout);
	else if (run->options.version)
		printf("lowlat-measure %s\n", LOWLAT_VERSION);
	else if (run->options.tools)
		tools_write(stdout);
	else if (run_prepare(run))
		return EXIT_REFUSED;
	else
		setup_write(&run->setup, stdout);
	err = finish_stdout(false);
	/* A reader may stop before the end of the help. */
	return err && err != -EPIPE ? EXIT_PARTIAL : 0;
}

int main(int argc, char *argv[])
{
	struct run run = { 0 };
	int status;

	block_signals();
	/* A closed pipe and a file that is too large are seen as errors of write(). */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* If it is ignored, waitpid() cannot wait for a child. */
	signal(SIGCHLD, SIG_DFL);
	if (options_parse(argc, argv, &run.options)) {
		status = EXIT_REFUSED;
	} else if (run.options.help || run.options.version || run.options.tools ||
		   run.options.check) {
		status = answer(&run);
	} else if (run_prepare(&run)) {
		status = EXIT_REFUSED;
	} else {
		run_make(&run);
		status = finish(&run);
	}
	run_deinit(&run);
	return status;
}
