/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Makes every page that a fork left shared with the child this process's own.
 *
 * At the first write the kernel would copy the page and interrupt every CPU that runs a thread of
 * this process, to flush the old mapping (wp_page_copy() in mm/memory.c: ptep_clear_flush()); a
 * detector would count that. Such a write may depend on as little as a label's length.
 *
 * Returns the number of pages written to, with unchanged contents; 0 without /proc/self/maps.
 */
size_t unshare_pages(void);
