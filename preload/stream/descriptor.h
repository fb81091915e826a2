/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/descriptor.h - which stream a descriptor of this process is an end of
 *
 * A word for each descriptor tells the streams that it reads and writes. It is found at the first use
 * by system calls (preload/stream/look.h), and forgotten by each call of the program that closes the
 * number or gives it another meaning: before the call, so that nobody who gets the number next finds
 * the old meaning, and after it. Calls that bypass libc are not seen: the next use may find the stream
 * of an earlier descriptor.
 *
 * A word is written and read as a whole: no lock, in any context.
 *
 * I1  What a look found is kept only if no number was closed since it began. So it is not that of a file
 *     which another thread closed meanwhile, or has closed since and not yet said so.
 */
#ifndef CPA_PRELOAD_STREAM_DESCRIPTOR_H
#define CPA_PRELOAD_STREAM_DESCRIPTOR_H

#include "preload/core/guard.h"
#include "shadow/edge/stream.h"

#define CPA_DESCRIPTORS 16384u /* higher numbers are not followed */

/* {kind:5, state:3, row of the stream that it reads:28, row of the one that it writes:28}; 0: not known. */
extern CPA_HIDDEN uint64_t cpa_descriptor[CPA_DESCRIPTORS];

#define CPA_DESCRIPTOR_ROW	 28u
#define CPA_DESCRIPTOR_ROW_MASK	 ((UINT64_C(1) << CPA_DESCRIPTOR_ROW) - 1)
#define CPA_DESCRIPTOR_KNOWN	 (UINT64_C(1) << 56)
#define CPA_DESCRIPTOR_PROMISING (UINT64_C(1) << 57) /* not known, but an end of a stream */
#define CPA_DESCRIPTOR_GIVEN	 (UINT64_C(1) << 58) /* by who made it: a look would not tell */
#define CPA_DESCRIPTOR_KIND \
	59u /* enum cpa_stream_kind, if it is a terminal or none that is followed; or 0 */

/* The word of a descriptor that reads and writes the streams in these rows. */
static inline uint64_t cpa_descriptor_of(uint32_t reads, uint32_t writes)
{
	return CPA_DESCRIPTOR_KNOWN | (uint64_t)reads << CPA_DESCRIPTOR_ROW | writes;
}

static inline uint32_t cpa_descriptor_reads(uint64_t word)
{
	return (uint32_t)(word >> CPA_DESCRIPTOR_ROW & CPA_DESCRIPTOR_ROW_MASK);
}

static inline uint32_t cpa_descriptor_writes(uint64_t word)
{
	return (uint32_t)(word & CPA_DESCRIPTOR_ROW_MASK);
}

static inline bool cpa_descriptor_is_kept(int fd)
{
	return (unsigned)fd < CPA_DESCRIPTORS;
}

static inline uint64_t cpa_descriptor_word(int fd)
{
	/* Relaxed: a word is all that there is. */
	return __atomic_load_n(&cpa_descriptor[fd], __ATOMIC_RELAXED);
}

/*
 * Of what kind a descriptor is of which it may not be known what a read waits for: a terminal, or one that is
 * not followed. 0: another one, or it can have no end elsewhere.
 */
static inline enum cpa_stream_kind cpa_descriptor_kind(uint64_t word)
{
	return (enum cpa_stream_kind)(word >> CPA_DESCRIPTOR_KIND);
}

/* Look what @fd is, and return its word. errno is kept; async-signal-safe. */
CPA_HIDDEN uint64_t cpa_descriptor_look(int fd);

/* The same inside our code, of worker @w. */
CPA_HIDDEN uint64_t cpa_descriptor_look_in(struct cpa_worker *w, int fd);

/* The word of @fd, known. 0: it is not followed, or nothing is. */
static inline uint64_t cpa_descriptor_known(int fd)
{
	uint64_t word;

	if (unlikely(!cpa_descriptor_is_kept(fd) || !*cpa_alive))
		return 0;
	word = cpa_descriptor_word(fd);
	return likely(word & CPA_DESCRIPTOR_KNOWN) ? word : cpa_descriptor_look(fd);
}

/* The stream that a read of @fd takes bytes of, or a write gives bytes to. NULL: none. */
static inline struct cpa_stream *cpa_descriptor_in(int fd)
{
	uint32_t row = cpa_descriptor_reads(cpa_descriptor_known(fd));

	return unlikely(row) ? cpa_stream(row) : NULL;
}

static inline struct cpa_stream *cpa_descriptor_out(int fd)
{
	uint32_t row = cpa_descriptor_writes(cpa_descriptor_known(fd));

	return unlikely(row) ? cpa_stream(row) : NULL;
}

/* The number has become what @word says; CPA_DESCRIPTOR_PROMISING: an end of a stream. */
CPA_HIDDEN void cpa_descriptor_set(int fd, uint64_t word);

/* A call has just made @fd, the only end of its kind, which is what @word says. */
CPA_HIDDEN void cpa_descriptor_made(int fd, uint64_t word);

/* The number @to, if not negative, has become what @from is. */
CPA_HIDDEN void cpa_descriptor_copied(int from, int to);

/* The highest number that may be known. */
CPA_HIDDEN uint32_t cpa_descriptor_highest(void);

/*
 * The program is about to close @fd: whoever reads or writes the other end depends on that. The number
 * is forgotten. @caller as in cpa_event(). errno is kept. The caller passes the result to
 * cpa_descriptor_was_closed() when the program's call has returned, or to cpa_descriptor_cancelled() when it
 * was cancelled. cpa_descriptor_not_timed(): the call will go on for long when it has closed @fd, or closes
 * others, too. Return what to pass then.
 */
CPA_HIDDEN uint32_t cpa_descriptor_closing(int fd, uint64_t caller);
CPA_HIDDEN void cpa_descriptor_was_closed(uint32_t closing);
CPA_HIDDEN void cpa_descriptor_cancelled(uint32_t closing);
CPA_HIDDEN uint32_t cpa_descriptor_not_timed(uint32_t closing);

/*
 * The program has closed the numbers from @first to @last, each of which it said before it was about to
 * close, or has put another file there. What a thread found there in between is forgotten.
 */
CPA_HIDDEN void cpa_descriptor_closed(unsigned first, unsigned last);

/*
 * A call of the C library has closed @fd, and maybe put another file there: whoever reads or writes
 * the other end depends on that. The number is forgotten. errno is kept.
 */
CPA_HIDDEN void cpa_descriptor_replaced(int fd, uint64_t caller);

/*
 * The program is about to shut down writing on @fd: the reader depends on that. errno is kept. The caller
 * passes the result to cpa_descriptor_was_shut() when the program's call has returned.
 */
CPA_HIDDEN uint32_t cpa_descriptor_shutting(int fd, uint64_t caller);
CPA_HIDDEN void cpa_descriptor_was_shut(uint32_t shutting);

/*
 * The process, which owns this memory, begins: look at its standard descriptors. @counted: the program that
 * it was before has counted them.
 */
CPA_HIDDEN void cpa_descriptor_begin(bool counted);

/*
 * It ends, or becomes another program (@exec), inside an event: all its ends are closed, or those that
 * exec closes.
 */
CPA_HIDDEN void cpa_descriptor_end(struct cpa_worker *w, bool exec);

/* If the process was about to become another program: it has not. */
CPA_HIDDEN void cpa_descriptor_not_execed(void);

#endif
