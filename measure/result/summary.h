/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run as text for people. Not a stable format; the JSON is. */
#ifndef LOWLAT_SUMMARY_H
#define LOWLAT_SUMMARY_H

#include <stdio.h>

#include "session.h"

void summary_write(const struct run *run, FILE *file);

#endif
