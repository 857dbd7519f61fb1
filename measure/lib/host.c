/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "cleanup.h"
#include "xalloc.h"

#define CPU_DIR "/sys/devices/system/cpu/"

/* Only QEMU's emulator (TCG) reports itself; other emulators cannot be detected. */
static bool runs_emulated(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c, d;
	char signature[13] = { 0 };

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1U << 31))
		return false;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	return strcmp(signature, "TCGTCGTCGTCG") == 0;
#else
	return false;
#endif
}

static int read_list(const char *path, struct cpulist *ret)
{
	_cleanup_free_ char *text = text_read_trimmed("%s", path);

	return text ? cpulist_parse(text, ret) : -ENOENT;
}

static char *or_empty(char *text)
{
	return text ? text : xcalloc(1, 1);
}

int host_init(struct host *ret)
{
	_cleanup_free_ char *meminfo = text_read_trimmed("/proc/meminfo");
	const time_t now = time(NULL);
	struct utsname name;
	struct tm utc;

	*ret = (struct host){ .emulated = runs_emulated() };
	strftime(ret->started, sizeof(ret->started), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	ret->boot_id = or_empty(text_read_trimmed("/proc/sys/kernel/random/boot_id"));
	ret->cmdline = or_empty(text_read_trimmed("/proc/cmdline"));
	if (uname(&name))
		memset(&name, 0, sizeof(name));
	ret->kernel = text_format("%s", name.release);
	ret->name = text_format("%s", name.nodename);
	ret->memory_available = text_count_after(meminfo, "\nMemAvailable:") * 1024;
	/* Older kernels have no such file: no CPU is known to be isolated then. */
	read_list(CPU_DIR "isolated", &ret->isolated);
	if (read_list(CPU_DIR "online", &ret->online) < 0 || !ret->online.count)
		return refuse(CPU_DIR "online: can't be read, so no CPU is known; mount /sys");
	cpulist_bind(&ret->online);
	if (cpulist_allowed(&ret->allowed))
		return refuse(
			"sched_getaffinity(): more CPUs than lowlat-measure knows; report it");
	return 0;
}

void host_deinit(struct host *host)
{
	free(host->boot_id);
	free(host->kernel);
	free(host->name);
	free(host->cmdline);
	cpulist_deinit(&host->online);
	cpulist_deinit(&host->allowed);
	cpulist_deinit(&host->isolated);
}
