/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ports of IPv4 that nobody listens on, for loads that talk to themselves. */
#pragma once

#include <stdint.h>

/*
 * The lowest run of `count` ports from `first` on that are free for TCP and UDP now, below those
 * that the kernel gives out by itself (32768).
 *
 * Returns its first port; `first` where there is none.
 */
uint16_t ports_find(uint16_t first, uint16_t count);
