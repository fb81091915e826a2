/* SPDX-License-Identifier: MIT */
/*
 * preload/core/computes.h - which threads compute between their events, and which do little else
 */
#ifndef CPA_PRELOAD_CORE_COMPUTES_H
#define CPA_PRELOAD_CORE_COMPUTES_H

#include "shadow/store/session.h"

/* Whether threads look on before they block for a mutex. Written before there are threads. */
extern CPA_HIDDEN bool cpa_looks_on;

/* With a session. @look_on: if there is more than one processor. */
CPA_HIDDEN void cpa_looks_on_init(bool look_on);

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
