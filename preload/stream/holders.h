/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/holders.h - who has descriptors for writing: shadow/edge/holder.h
 *
 * A fork copies all descriptors, and the child of fork() counts them as its own. Where another thread
 * makes or closes one meanwhile, or a signal handler forks in such a call, it is not known what the child
 * has: then nothing follows from any count of the session. What other children have, which are not in the
 * session from the start, is not counted: the streams are astray. So are those of descriptors that are
 * sent in messages, or that a new program has beyond the standard ones, which it may not use.
 */
#ifndef CPA_PRELOAD_STREAM_HOLDERS_H
#define CPA_PRELOAD_STREAM_HOLDERS_H

#include "preload/stream/descriptor.h"

struct msghdr;

/* Around a call that makes, copies or closes a descriptor for writing. Async-signal-safe, as all here. */
CPA_HIDDEN void cpa_holders_move(void);
CPA_HIDDEN void cpa_holders_moved(void);

/* The thread is about to fork; the child is in the session (@joins), or not. Then, in both processes: */
CPA_HIDDEN void cpa_holders_forking(bool joins);
CPA_HIDDEN void cpa_holders_forked(bool is_child);

/* A fork failed that was to make a child of the session; before it began there had been @since calls. */
CPA_HIDDEN uint32_t cpa_holders_moves(void);
CPA_HIDDEN void cpa_holders_not_forked(uint32_t since);

/*
 * The process ends, or becomes another program, which is tried by one thread at a time: what others change
 * meanwhile, or a cancelled call, is not known. cpa_holders_stay(): it has not become one.
 */
CPA_HIDDEN void cpa_holders_ending(void);
CPA_HIDDEN void cpa_holders_stay(void);

/* Nothing follows from any count of the session any more. */
CPA_HIDDEN void cpa_holders_lost(void);

/* A child may get all descriptors that the process has, and is not in the session, or not yet. */
CPA_HIDDEN void cpa_holders_astray(void);

/* Descriptors that were sent with @message, which the kernel has just read. */
CPA_HIDDEN void cpa_holders_passed(const struct msghdr *message);

#endif
