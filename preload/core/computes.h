/* SPDX-License-Identifier: MIT */
/*
 * preload/core/computes.h - which threads compute between their events, and which do little else
 */
#ifndef CPA_PRELOAD_CORE_COMPUTES_H
#define CPA_PRELOAD_CORE_COMPUTES_H

#include "shadow/store/session.h"

/* Whether the activities of the thread with @row, the caller's own, are long in the mean. */
CPA_HIDDEN bool cpa_computes(const struct cpa_thread *row);

/* Tell the other threads whether it does. To be called where the kernel was asked for the time. */
CPA_HIDDEN void cpa_computes_note(const struct cpa_thread *row);

/*
 * What the thread with kernel thread id @tid told; a hint. False for 0, and most likely for one of
 * another process.
 */
CPA_HIDDEN bool cpa_computes_other(int tid);

#endif
