/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolation.h"

#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* include/uapi/linux/prctl.h of the patched kernels. */
#define SET_TASK_ISOLATION 48
#define ISOLATION_ENABLE (1UL << 0)
/* With the signal number left at 0: none is sent. */
#define ISOLATION_USERSIG (1UL << 1)

bool isolation_offered(const char *root)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/task_isolation", root);
	return access(path, F_OK) == 0;
}

int isolation_enter(void)
{
	return prctl(SET_TASK_ISOLATION, ISOLATION_ENABLE | ISOLATION_USERSIG, 0, 0, 0) ? -errno :
											  0;
}

void isolation_leave(void)
{
	prctl(SET_TASK_ISOLATION, 0, 0, 0, 0);
}
