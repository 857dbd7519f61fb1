/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs that run beside the detector and after it; what goes wrong is noted in the run. */
#ifndef LOWLAT_COMPANIONS_H
#define LOWLAT_COMPANIONS_H

#include "run.h"

/* Starts the load that was asked for. */
void companions_start(struct run *run);

/* Runs oslat on the measured CPUs while the load goes on, unless the run was interrupted. */
void companions_second_opinion(struct run *run);

/* Ends the load and keeps what it wrote. */
void companions_end(struct run *run);

#endif
