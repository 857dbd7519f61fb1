/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "waits.h"

#include "clock.h"
#include "phases.h"
#include "units.h"

sigset_t run_signals(void)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	return signals;
}

void run_wait_ns(struct run *run, uint64_t ns)
{
	const struct timespec timeout = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };
	sigset_t signals = run_signals();
	int signal_number = SIGPIPE;

	sigaddset(&signals, SIGIO);
	if (!phases_unread(run->options.phases))
		signal_number = sigtimedwait(&signals, NULL, &timeout);
	if (signal_number > 0 && signal_number != SIGIO && !run->interrupted)
		run->interrupted = signal_number;
}

void run_wait_until(struct run *run, uint64_t deadline_ns)
{
	uint64_t now = clock_raw_ns();

	while (!run->interrupted && now < deadline_ns) {
		run_wait_ns(run, deadline_ns - now);
		now = clock_raw_ns();
	}
}

bool run_was_stopped(void)
{
	const struct timespec now = { 0 };
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCONT);
	return sigtimedwait(&signals, NULL, &now) == SIGCONT;
}

void run_wait_child(struct run *run, struct child *child)
{
	while (!child_ended(child) && !run->interrupted)
		run_wait_ns(run, 20 * NS_PER_MS);
	if (!child_ended(child))
		child_finish(child, GRACE_INTERRUPTED_NS);
	child_wait(child);
}
