/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "isolation.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/* From include/uapi/linux/prctl.h of the patched kernels. */
#define SET_TASK_ISOLATION 48
#define ISOLATION_ENABLE (1UL << 0)
/* With signal number 0: no signal is sent. */
#define ISOLATION_USERSIG (1UL << 1)

/* From the same file of the newer patches; without the feature the numbers mean other things. */
#define ISOL_FEAT_GET 63
#define ISOL_CFG_SET 65
#define ISOL_ACTIVATE_SET 67
#define CFG_FEAT 1UL
#define QUIESCE UINT64_C(1)
#define QUIESCE_VMSTATS UINT64_C(1)

enum isolation isolation_offered(const char *root)
{
	uint64_t features[8] = { 0 };
	char path[256];

	if (!prctl(ISOL_FEAT_GET, 0, features, 0, 0) && features[0] & QUIESCE)
		return ISOLATION_QUIESCE;
	snprintf(path, sizeof(path), "%s/sys/devices/system/cpu/task_isolation", root);
	return access(path, F_OK) ? ISOLATION_NONE : ISOLATION_TASK;
}

static int quiesce(void)
{
	/* struct task_isol_quiesce_control: flags, then the kernel activities to quiesce. */
	const uint64_t control[8] = { 0, QUIESCE_VMSTATS }, active = QUIESCE;

	if (prctl(ISOL_CFG_SET, CFG_FEAT, QUIESCE, 1, control))
		return -errno;
	return prctl(ISOL_ACTIVATE_SET, &active, 0, 0, 0) ? -errno : 0;
}

int isolation_enter(enum isolation kind)
{
	if (kind == ISOLATION_QUIESCE)
		return quiesce();
	return prctl(SET_TASK_ISOLATION, ISOLATION_ENABLE | ISOLATION_USERSIG, 0, 0, 0) ? -errno :
											  0;
}

void isolation_leave(enum isolation kind)
{
	const uint64_t none = 0;

	if (kind == ISOLATION_QUIESCE)
		prctl(ISOL_ACTIVATE_SET, &none, 0, 0, 0);
	else
		prctl(SET_TASK_ISOLATION, 0, 0, 0, 0);
}
