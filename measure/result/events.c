/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include <errno.h>
#include <inttypes.h>

#include "cleanup.h"
#include "xalloc.h"

/* Each CPU's log is in order already. Returns the CPU whose next gap is first, count for none. */
static size_t earliest(const struct detectors *detectors, const size_t *next)
{
	size_t best = detectors->count;

	for (size_t i = 0; i < detectors->count; i++) {
		const struct spin *spin = &detectors->items[i].spin;

		if (next[i] >= spin->log_used)
			continue;
		if (best == detectors->count ||
		    spin->log[next[i]].begin < detectors->items[best].spin.log[next[best]].begin)
			best = i;
	}
	return best;
}

int events_write(const struct run *run, FILE *file)
{
	const struct detectors *detectors = &run->detectors;
	_cleanup_free_ size_t *next = xcalloc(detectors->count, sizeof(*next));

	fputs("cpu,begin,end\n", file);
	for (size_t i = earliest(detectors, next); i < detectors->count;
	     i = earliest(detectors, next)) {
		const struct detector *detector = &detectors->items[i];
		const struct gap *gap = &detector->spin.log[next[i]++];

		fprintf(file, "%u,%" PRIu64 ",%" PRIu64 "\n", detector->cpu, gap->begin, gap->end);
	}
	return ferror(file) ? -EIO : 0;
}
