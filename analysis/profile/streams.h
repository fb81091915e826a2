/* SPDX-License-Identifier: MIT */
/* analysis/profile/streams.h - figures of streams between threads */
#ifndef CPA_ANALYSIS_PROFILE_STREAMS_H
#define CPA_ANALYSIS_PROFILE_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

struct cpa_profile;

/* Streams of one kind between the same classes of threads. */
struct cpa_stream_figures {
	enum cpa_stream_kind kind;
	char *from, *to; /* names of the writer and of the reader; NULL: it is not in the session */
	char *name;	 /* "from -> to" */
	uint32_t number; /* its place in the profile, from 1 */
	struct cpa_stream_end {
		double critical_path_s, observed_path_s; /* of its threads' classes */
		double critical_path_margin_s;		 /* see margins.h; NAN: not known */
		uint32_t path_slot[CPA_STREAM_ENDS];	 /* of these classes; 0: none */
		uint32_t slot;				 /* of the class if it is one, or 0 */
	} writer, reader;
	uint64_t streams, bytes, writes, reads;
	uint64_t messages;	   /* writes that were read to their last byte */
	double stay_s, stay_p99_s; /* from a write to the read of its last byte */
	uint64_t waits, blocks;	   /* times that a reader waited for data, a writer for room */
	double waited_s, blocked_s;
	double waited_margin_s, blocked_margin_s; /* see margins.h; NAN: not known */
	double saved_s;				  /* see cpa_predict_streams(); NAN: not known */
	uint64_t unmatched;			  /* reads of bytes whose write is not known */
	uint64_t uncertain;			  /* reads of bytes that several wrote at once */
};

/* "pipe" ... */
const char *cpa_stream_word(enum cpa_stream_kind kind);
/* In tables, of 7 characters at most: it leaves room for the names. */
const char *cpa_stream_short(enum cpa_stream_kind kind);

/* Both ends are in the session. */
static inline bool cpa_stream_is_inside(const struct cpa_stream_figures *stream)
{
	return stream->from && stream->to;
}

/* Which side the other one waits for: "writer", "reader", or "neither". */
const char *cpa_stream_limit(const struct cpa_stream_figures *stream);

/* Forget the streams of @profile, which is to go on without them. */
void cpa_streams_free(struct cpa_profile *profile);

#endif
