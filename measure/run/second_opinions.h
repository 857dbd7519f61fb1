/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second opinions of a run, one after another behind the detector, while the load goes on. */
#pragma once

#include "session.h"

/* Runs those that were asked for, and oslat where it is installed, unless the run was interrupted. */
void opinions_make(struct run *run);

/* What all of them together may take, without their own warm-ups. */
uint64_t opinions_longest_ns(const struct run *run);

void opinions_deinit(struct run *run);
