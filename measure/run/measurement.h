/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stretch of a run that counts: the detectors, and all that watches them meanwhile. */
#pragma once

#include "session.h"

/* Warms up, measures and ends the detectors. What goes wrong makes the run partial. */
void measurement_make(struct run *run);
