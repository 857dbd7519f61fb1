/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The run as text for people. Not a stable format; the JSON is. */
#pragma once

#include <stdio.h>

#include "session.h"

void summary_write(const struct run *run, FILE *file);
