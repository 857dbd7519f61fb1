/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gaps of all CPUs as a table: cpu,begin,end in decimal ticks, sorted by begin. */
#pragma once

#include <stdio.h>

#include "detector.h"

/* Returns 0 or -EIO. */
int events_write(const struct detectors *detectors, FILE *file);
