/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's clock that nothing adjusts, CLOCK_MONOTONIC_RAW. */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_raw_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
