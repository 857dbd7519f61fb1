/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process's own pages. */
#pragma once

#include <stddef.h>

/*
 * Makes every page that a fork left shared with the child, until one of the two writes to it, this
 * process's own.
 *
 * The kernel copies such a page at the first write and interrupts every CPU that runs a thread of
 * this process, to make it forget the old one (wp_page_copy() in mm/memory.c: ptep_clear_flush());
 * a detector on that CPU would count it. Whether a page is written to within a run depends on as
 * little as the length of a label.
 *
 * Returns how many pages it wrote to; what they hold stays as it is. 0 without /proc/self/maps.
 */
size_t unshare_pages(void);
