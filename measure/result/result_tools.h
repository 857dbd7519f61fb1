/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What ran beside the detector and after it, in the JSON result. Each returns a new reference. */
#pragma once

#include <jansson.h>

#include "session.h"

/* An array with an object for each part of the load. */
json_t *result_loads(const struct run *run);

/* An object, or null where oslat did not run. */
json_t *result_oslat(const struct run *run);

/* An array with an object for each of the other second opinions. */
json_t *result_opinions(const struct run *run);

/* An array with an object for each work kind on each CPU, and one for the throughput. */
json_t *result_works(const struct run *run);
