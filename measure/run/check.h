/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a run can be believed. */
#pragma once

#include "session.h"
#include "spin.h"

/*
 * Time of the loop that is in neither a reading, nor a gap, nor dead time, as a share of its
 * runtime; 1 when no batch was without a gap. The period comes from the batches that saw none, so a
 * machine that is slow all the time, or disturbed below the threshold, is not blamed for it.
 */
double check_unaccounted(const struct spin *spin);

/* Adds a sentence to run->problems for each doubt; clears run->valid where figures are wrong. */
void check_run(struct run *run);
