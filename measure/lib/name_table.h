/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a table's rows, as the command line takes them and as messages tell them. */
#pragma once

#include <stddef.h>

/* Returns the row's name; NULL behind the last one. */
typedef const char *name_of(size_t row);

/* The row of a name; the number of rows where there is none. */
size_t names_find(name_of *name, const char *text, size_t length);

/* All of them with commas between; the text is made anew by each call. */
const char *names_join(name_of *name);
