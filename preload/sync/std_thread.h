/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/std_thread.h - which function a std::thread of libstdc++ runs
 */
#ifndef CPA_PRELOAD_SYNC_STD_THREAD_H
#define CPA_PRELOAD_SYNC_STD_THREAD_H

#include "shadow/store/session.h"

/*
 * Address of the function that a thread is for. @routine and @argument are those that
 * pthread_create() was given, before @argument is used. Where libstdc++ started the thread, that is
 * the function that std::thread was given, or the virtual function that calls it; of any other
 * thread, @routine. Takes no lock; call it inside instrumentation code.
 */
CPA_HIDDEN uint64_t cpa_std_thread_function(uint64_t routine, const void *argument);

#endif
