/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The measured CPUs in the JSON result. */
#ifndef LOWLAT_RESULT_CPU_H
#define LOWLAT_RESULT_CPU_H

#include <jansson.h>

#include "session.h"

/* An array with an object for each CPU that was measured. */
json_t *result_cpus(const struct run *run);

#endif
