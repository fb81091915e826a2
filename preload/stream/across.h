/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/across.h - waits for streams that go on across borders of parts of the run
 *
 * A call may begin in one part, or while profiling is off, and return in another, or while it is off. When it returns
 * its waiting time is counted, in ticks, as far as profiling was on meanwhile. So the sums of windows have waits that
 * are longer than a window. On the thread's path that time stays external: the write that ended the wait may not be
 * known.
 */
#ifndef CPA_PRELOAD_STREAM_ACROSS_H
#define CPA_PRELOAD_STREAM_ACROSS_H

#include "preload/core/guard.h"
#include "shadow/edge/stream.h"
#include "shadow/store/epoch.h"

/* A call under way. */
struct cpa_across {
	uint64_t epoch; /* as it began; 0: before profiling began */
	/* Began in a part: the tick. Else: for how many ticks profiling had been on. */
	uint64_t since;
};

/* A call begins. */
static inline struct cpa_across cpa_across_begin(void)
{
	/* Once the profile has ended the program may have made reading the clock a fault. */
	uint64_t epoch = likely(*cpa_alive) ? cpa_epoch_seen() : 0;

	if (likely(epoch & 1))
		return (struct cpa_across){ epoch, cpa_clock_now() };
	return (struct cpa_across){ epoch, epoch ? cpa_epoch_on_before(cpa_header(), epoch) : 0 };
}

/* Whether a border came since the call began. */
static inline bool cpa_across_is(const struct cpa_across *a)
{
	return unlikely(cpa_epoch_seen() != a->epoch) && a->epoch && *cpa_alive;
}

/*
 * The call is over, and was for bytes of @s, or, if @room, for room in it: count the wait, if somebody in the session
 * is at the other end. errno is kept. Signal-safe, wait-free but for borders that come meanwhile.
 */
CPA_HIDDEN void cpa_across_end(const struct cpa_across *a, struct cpa_stream *s, bool room);

#endif
