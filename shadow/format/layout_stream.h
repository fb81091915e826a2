/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_stream.h - byte streams between threads; part of shadow/format/layout.h
 *
 * A stream is one direction of a pipe or socket. Its key is a hash of what both of its ends can know:
 * see preload/stream/look.h. Bytes are numbered from 0 in the order in which they were written since
 * cpa first saw the stream. Connections to a listening socket, and messages to a socket of datagrams,
 * are a stream, too: each is a write, and who accepts or receives it reads it.
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_STREAM_H
#define CPA_SHADOW_FORMAT_LAYOUT_STREAM_H

#include <stdint.h>

#define CPA_STREAMS_MOST   32768u /* streams of a session; others are not followed */
#define CPA_STREAM_RECORDS 128u	  /* writes that were not read yet and are known, a power of two */
#define CPA_STREAM_ROOMS   16u	  /* latest reads that a blocked writer finds, a power of two */
#define CPA_STREAM_ENDS	   4u	  /* kinds of threads at an end that are kept by name */
#define CPA_STREAMS_CLOSED 256u	  /* closings of streams whose records are kept, a power of two */

#define CPA_STREAM_BYTES   ((UINT64_C(1) << 48) - 1) /* of `written` */
#define CPA_STREAM_WRITING (UINT64_C(1) << 48)	     /* a thread in a write with a record */
#define CPA_STREAM_BARE	   (UINT64_C(1) << 56)	     /* in one without */

/* Some process has closed this end. */
#define CPA_STREAM_NO_WRITER 1u
#define CPA_STREAM_NO_READER 2u
/* It belongs to a unix socket that has been connected by name: preload/stream/look.h. */
#define CPA_STREAM_CONNECTED 4u
/* Its descriptors for writing are counted, in `holders`; one went where nobody counts: shadow/edge/holder.h. */
#define CPA_STREAM_COUNTED 8u
#define CPA_STREAM_ASTRAY  16u
/* A process ended, or became another program, with one: the kernel closes it at some time after that. */
#define CPA_STREAM_KEPT 32u
/* It is what a terminal shows, to the reader of the master: echoes, too. */
#define CPA_STREAM_SHOWN 64u
/* A write that does not block found too little room: its thread may wait for more in poll() or its kin. */
#define CPA_STREAM_FULL 128u
/* A thread was blocked until there was room in it, before it tried to write. */
#define CPA_STREAM_POLLED 256u
/* A thread of the session has read it, or begun to. */
#define CPA_STREAM_READ 512u
/* Nobody in the session has read it, and somebody outside has. */
#define CPA_STREAM_OUTWARD 1024u
/* Value of `accepts`, beside numbers of threads: several threads. */
#define CPA_STREAM_MANY_ACCEPT UINT32_MAX

/* Internal, atomic: the latest streams of which an end was closed: shadow/edge/unread.h. */
struct cpa_closed_streams {
	uint64_t places;		    /* given so far */
	uint64_t place[CPA_STREAMS_CLOSED]; /* {stamp:32, row:32}; 0: none yet */
};

enum cpa_stream_kind {
	CPA_STREAM_PIPE = 1,
	CPA_STREAM_UNIX = 2, /* a connected unix socket */
	CPA_STREAM_TCP = 3,
	CPA_STREAM_EVENTFD = 4, /* its counter in place of bytes */
	/* Of these, reads find their writes by what both know of it: shadow/edge/message.h. */
	CPA_STREAM_PACKET = 5,	   /* a connected unix socket of packets */
	CPA_STREAM_DATAGRAM = 6,   /* all that a unix socket of datagrams receives */
	CPA_STREAM_UDP = 7,	   /* the same of UDP */
	CPA_STREAM_CONNECTION = 8, /* connections to a listening socket */
	CPA_STREAM_TERMINAL = 9,   /* one direction of a pseudo terminal: shadow/edge/terminal.h */
	/* Never followed: one row each counts waits; so does one of each kind above for those that are not. */
	CPA_STREAM_OTHER = 10,	 /* sockets of other families */
	CPA_STREAM_TIMER = 11,	 /* timerfd */
	CPA_STREAM_SIGNALS = 12, /* signalfd */
	CPA_STREAM_FILES = 13,	 /* inotify and fanotify: changes of files */
	CPA_STREAM_RING = 14,	 /* io_uring */
	CPA_STREAM_DEVICE = 15,	 /* devices of characters that are no terminals */
	CPA_STREAM_UNKNOWN = 16, /* none of these */
	CPA_STREAM_KINDS
};

/* Counters are atomic; times are ticks. */
struct cpa_stream {
	uint64_t key;
	uint32_t kind; /* enum cpa_stream_kind */
	/* atomic: 1: bytes were read that no write had put in; its reads no longer depend on writes */
	uint32_t broken;
	/* Changed by writers. */
	/*
	 * {writing:16, bytes:48}. bytes: of writes that have returned. writing, internal: threads in
	 * a write; too high if one was killed there.
	 */
	uint64_t written;
	uint64_t records; /* writes that have, or had, a place in `record` */
	uint64_t blocked; /* writes that waited for room, of which the read that made it is known */
	uint64_t blocking; /* ticks of these waits */
	/*
	 * Internal, atomic. Of connections: the one thread that accepts; 0: none yet. Of a row that stands for a
	 * number of the kernel's: the stream of that eventfd, in another row; 0: none.
	 */
	uint32_t accepts;
	uint32_t closed; /* internal, atomic: bits CPA_STREAM_NO_..., and those after them */
	uint32_t writer[CPA_STREAM_ENDS]; /* component rows of the threads; 0: none */
	/* Changed by readers. */
	uint64_t taken;	    /* bytes */
	uint64_t tail;	    /* internal: lowest place of `record` that may be in use */
	uint64_t reads;	    /* that took bytes of a known write */
	uint64_t waits;	    /* of these: reads, and waits for the descriptor, that blocked */
	uint64_t waiting;   /* ticks of these waits */
	uint64_t stayed;    /* ticks from writes to the reads of their last bytes */
	uint64_t unmatched; /* reads that took bytes of no known write, or an end that nobody made */
	uint64_t uncertain; /* reads of bytes that several writers wrote at the same time */
	uint64_t rooms;	    /* internal: places of `room` given so far */
	uint32_t reader[CPA_STREAM_ENDS]; /* as `writer` */
	/* internal: the join of the paths of all who closed the end for writing: shadow/edge/merge.h */
	uint64_t ended;
	/*
	 * Internal, atomic: the latest tick at which a call that ended the stream for a descriptor, and
	 * said so in `ended`, had returned; 0: none since the last descriptor was closed. The number of
	 * descriptors for writing, and of such calls under way: shadow/edge/holder.h.
	 */
	uint64_t closed_at;
	uint32_t holders, closing;
	/* Internal: cells (shadow/edge/cell.h), see shadow/edge/stream.h. */
	uint64_t record[CPA_STREAM_RECORDS], room[CPA_STREAM_ROOMS];
	/*
	 * Of the writes that were read to their last byte, by ticks until then; halved when a bucket
	 * is full: shadow/edge/queue.h.
	 */
	uint32_t histogram[CPA_HISTOGRAM];
	/* Internal, atomic. Of TCP: inodes of the latest sockets that wrote and read it; 0: not known. */
	uint32_t socket[2];
} __attribute__((aligned(CPA_CACHE_LINE)));

#endif
