/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/closed.h - the records of streams that were closed go, when so many others were closed
 *
 * Bytes that nobody in the session reads, as the answers of a server to programs outside, leave records
 * that no read frees. When the end of a stream is closed, records of it may still be wanted: by a reader
 * that comes later. So the last CPA_STREAMS_CLOSED that were closed are kept in order, in a ring that all
 * processes share. The one whose place is needed is cleared, if it is over: nothing was written or read
 * since then. If something was, a process has the stream open, and will close it later.
 *
 * The latest CPA_STREAMS_CLOSED closings keep their records. A reader that is later than that depends on
 * nobody, which is counted as any unmatched read.
 *
 * Closings may overlap with each other, and with reads and writes of the stream. Progress: wait-free, but
 * for cpa_stream_clear().
 */
#ifndef CPA_SHADOW_EDGE_CLOSED_H
#define CPA_SHADOW_EDGE_CLOSED_H

#include "shadow/edge/stream.h"

/* An end of the stream in row @row was closed, as its bits say. The thread may have its records to free. */
CPA_HIDDEN void cpa_closed_stream(struct cpa_self *self, uint32_t row);

#endif
