/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measured CPUs in the JSON result. */
#pragma once

#include <jansson.h>

#include "session.h"

/* An array with an object for each CPU that was measured. */
json_t *result_cpus(const struct run *run);
