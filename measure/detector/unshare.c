/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unshare.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cleanup.h"

#define PAGES_AT_ONCE 1024
/* All of this program's mappings are smaller; a sanitizer's shadow memory takes terabytes. */
#define MAPPING_MAX (1UL << 30)

/* Read at run time: with a constant the compiler would generate a mere load. */
static volatile unsigned char no_bits;

/* Other threads may write to the page meanwhile: no write is lost, as this is one instruction. */
__attribute__((no_sanitize("thread", "address"))) static void write_to(uintptr_t page)
{
	__atomic_fetch_or((unsigned char *)page, no_bits, __ATOMIC_RELAXED);
}

/* Writes to the resident pages of a mapping. */
static size_t own_mapping(uintptr_t begin, uintptr_t end, size_t size)
{
	unsigned char present[PAGES_AT_ONCE];
	size_t written = 0;

	for (uintptr_t at = begin; at < end; at += PAGES_AT_ONCE * size) {
		const size_t left = (end - at) / size;
		const size_t count = left < PAGES_AT_ONCE ? left : PAGES_AT_ONCE;

		if (mincore((void *)at, count * size, present))
			break;
		for (size_t i = 0; i < count; i++) {
			if (!(present[i] & 1))
				continue;
			write_to(at + i * size);
			written++;
		}
	}
	return written;
}

size_t unshare_pages(void)
{
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;
	size_t written = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		char flags[5];

		if (sscanf(line, "%lx-%lx %4s", &begin, &end, flags) == 3 &&
		    !strcmp(flags, "rw-p") && end - begin <= MAPPING_MAX)
			written += own_mapping(begin, end, size);
	}
	return written;
}
