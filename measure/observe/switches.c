/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "switches.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "xalloc.h"

/* With the header page, this is the limit per CPU for a user (kernel.perf_event_mlock_kb). */
#define RING_SIZE ((size_t)512 << 10)

/* The layout of a record with the attributes below. */
struct record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time;
};

static int open_event(pid_t thread)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.context_switch = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC_RAW,
		/* No process waits for the ring: a wake-up would be noise. */
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX / 2,
	};

	return (int)syscall(SYS_perf_event_open, &attr, thread, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int map_ring(struct switches *switches)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	switches->ring_size = page + RING_SIZE;
	switches->ring = mmap(NULL, switches->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      switches->fd, 0);
	if (switches->ring != MAP_FAILED)
		return 0;
	switches->ring = NULL;
	return -errno;
}

int switches_init(pid_t thread, unsigned int cpu, size_t size, struct switches *ret)
{
	int err = 0;

	*ret = (struct switches){ .cpu = cpu, .fd = open_event(thread), .size = size };
	if (ret->fd < 0) {
		ret->fd = -1;
		return -errno;
	}
	err = map_ring(ret);
	ret->records = xcalloc(size, sizeof(*ret->records));
	/* Touch the memory now: a new page during the run would be noise. */
	memset(ret->records, 0xff, size * sizeof(*ret->records));
	if (err)
		switches_deinit(ret);
	return err;
}

static void keep(struct switches *switches, const struct record *record)
{
	if (record->header.type == PERF_RECORD_LOST) {
		/* Its body is an id and a count, in place of thread numbers and a time. */
		switches->lost += record->time;
		return;
	}
	if (record->header.type != PERF_RECORD_SWITCH)
		return;
	if (switches->count == switches->size) {
		switches->lost++;
		return;
	}
	switches->records[switches->count++] = (struct switch_record){
		.raw_ns = record->time,
		.out = record->header.misc & PERF_RECORD_MISC_SWITCH_OUT,
	};
}

/* Records wrap around at the end of the ring. */
static void take(const char *data, uint64_t at, void *ret, size_t length)
{
	const size_t begin = at % RING_SIZE;
	const size_t first = length < RING_SIZE - begin ? length : RING_SIZE - begin;

	memcpy(ret, data + begin, first);
	memcpy((char *)ret + first, data, length - first);
}

void switches_drain(struct switches *switches)
{
	struct perf_event_mmap_page *page = switches->ring;
	_Atomic uint64_t *head, *tail;
	const char *data;
	uint64_t at, end;

	if (!page)
		return;
	data = (const char *)page + (switches->ring_size - RING_SIZE);
	head = (_Atomic uint64_t *)&page->data_head;
	tail = (_Atomic uint64_t *)&page->data_tail;
	end = atomic_load_explicit(head, memory_order_acquire);
	at = atomic_load_explicit(tail, memory_order_relaxed);
	while (at < end) {
		struct record record = { 0 };

		take(data, at, &record, sizeof(record.header));
		take(data, at, &record,
		     record.header.size < sizeof(record) ? record.header.size : sizeof(record));
		keep(switches, &record);
		at += record.header.size;
	}
	atomic_store_explicit(tail, at, memory_order_release);
}

void switches_stop(struct switches *switches)
{
	if (switches->fd < 0)
		return;
	ioctl(switches->fd, PERF_EVENT_IOC_DISABLE, 0);
	switches_drain(switches);
}

int switches_write(const struct switches *switches, FILE *file)
{
	for (size_t i = 0; i < switches->count; i++)
		fprintf(file, "%u,%" PRIu64 ",%d\n", switches->cpu, switches->records[i].raw_ns,
			switches->records[i].out);
	return ferror(file) ? -EIO : 0;
}

void switches_deinit(struct switches *switches)
{
	if (switches->ring)
		munmap(switches->ring, switches->ring_size);
	if (switches->fd >= 0)
		close(switches->fd);
	free(switches->records);
	*switches = (struct switches){ .fd = -1 };
}
