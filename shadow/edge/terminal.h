/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/terminal.h - pseudo terminals: a wait depends on the writes that were made during it
 *
 * A pair of pseudo terminals is two streams: what is typed, from the master to the slave, and what is
 * shown, from the slave to the master. The kernel changes what is written, and echoes what is typed, so
 * bytes of writes and reads cannot be counted against each other. What is known of a read that waited:
 * there was nothing to take when it began, and something that was written until it returned. The read takes
 * what is there, so it depends on each thread that wrote in that time, up to its latest write. That may be a write
 * too late, by the time that the kernel takes to hand one over. Of one thread this is a moment of its own path. Of
 * several it may be a thread whose bytes the read did not take: then the wait is counted as uncertain. So it is if
 * there were more writes than records. A reader of the master may also be woken by the echo of what was typed
 * a moment before: such a wait is uncertain, and depends on nobody. A read that did not wait depends on nobody.
 *
 * Records are those of shadow/edge/message.h. They stay until their places are needed: a read does not
 * tell which of them it took. The calls may overlap as those of stream.h do. Progress: lock-free, as there.
 */
#ifndef CPA_SHADOW_EDGE_TERMINAL_H
#define CPA_SHADOW_EDGE_TERMINAL_H

#include "shadow/edge/stream.h"

/* The clock of the latest write to @s, if it was after clock @since; else 0. A hint. */
CPA_HIDDEN uint64_t cpa_terminal_written(const struct cpa_stream *s, uint64_t since);

/*
 * Find the writes that a wait for @s from clock @since to @now depends on, unless it may have been an echo.
 * False: that is not known, and nothing is pinned. Joined by cpa_stream_join(), with @took false.
 */
CPA_HIDDEN bool cpa_terminal_find(struct cpa_self *self, struct cpa_stream *s, uint64_t since,
				  uint64_t now, bool echoes, struct cpa_stream_found *found);

#endif
