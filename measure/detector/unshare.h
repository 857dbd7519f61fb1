/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stddef.h>

/*
 * Makes every page that a fork left shared with the child this process's own.
 *
 * At the first write the kernel would copy it and interrupt every CPU that runs a thread of this
 * process, to make it forget the old one (wp_page_copy() in mm/memory.c: ptep_clear_flush()); a
 * detector would count that. Whether a page is written to depends on as little as a label's length.
 *
 * Returns how many pages it wrote to, as they were; 0 without /proc/self/maps.
 */
size_t unshare_pages(void);
