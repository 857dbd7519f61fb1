/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps a program on the CPUs it was given. */
#pragma once

/*
 * Refuses the calling process, and all that it starts, sched_setaffinity() from now on: with it a
 * program goes wherever it likes (tlb-shootdown of stress-ng 0.19 does), cpuset or not.
 *
 * A kernel without seccomp filters can't do that; the program then runs without.
 */
void confine_to_cpus(void);
