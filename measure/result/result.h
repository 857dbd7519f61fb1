/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run as JSON, schema lowlat.run/1. */
#pragma once

#include <stdio.h>

#include "session.h"

/* Writes it, indented, with a newline at the end. Returns 0 or -EIO. */
int result_write(const struct run *run, FILE *file);
