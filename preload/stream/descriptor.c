/* SPDX-License-Identifier: MIT */
#include "preload/stream/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "preload/core/identity.h"
#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/stream/holders.h"
#include "preload/stream/look.h"
#include "preload/stream/talk.h"
#include "shadow/edge/unread.h"
#include "shadow/edge/holder.h"
#include "shadow/store/kernel.h"

#define STANDARD 3

uint64_t cpa_descriptor[CPA_DESCRIPTORS];

/* Atomic: highest number that was looked at or promised; those above need no look at the end. */
static uint32_t highest;

static void note_highest(uint32_t fd)
{
	uint32_t old = __atomic_load_n(&highest, __ATOMIC_RELAXED);

	/* Relaxed: only the end of the process reads it. */
	while (old < fd && !__atomic_compare_exchange_n(&highest, &old, fd, true, __ATOMIC_RELAXED,
							__ATOMIC_RELAXED))
		;
}

uint32_t cpa_descriptor_highest(void)
{
	/* Relaxed: a limit of walks, which may come late. */
	return __atomic_load_n(&highest, __ATOMIC_RELAXED);
}

/*
 * Whether the caller is a child of vfork(), whose numbers are not those of its parent, in whose memory
 * it is.
 */
static bool is_vforked(void)
{
	const struct cpa_worker *w = cpa_tls.worker;

	return unlikely(w && w->vforked) && !cpa_process_is_this();
}

/* Whether @word is that of an end of a stream, or may be. */
static bool is_end(uint64_t word)
{
	return word & (CPA_DESCRIPTOR_PROMISING | (CPA_DESCRIPTOR_KNOWN - 1));
}

static uint32_t closes; /* atomic: calls that have closed numbers */

static void forget(int fd)
{
	if (cpa_descriptor_word(fd))
		__atomic_store_n(&cpa_descriptor[fd], 0, __ATOMIC_RELAXED);
}

void cpa_descriptor_set(int fd, uint64_t word)
{
	if (!cpa_descriptor_is_kept(fd) || is_vforked())
		return;
	__atomic_store_n(&cpa_descriptor[fd], word, __ATOMIC_RELAXED);
	note_highest((uint32_t)fd);
}

void cpa_descriptor_made(int fd, uint64_t word)
{
	uint32_t writes = cpa_descriptor_writes(word);

	if (writes && !is_vforked()) {
		cpa_holder_first(cpa_stream(writes));
		if (!cpa_descriptor_is_kept(fd))
			cpa_holder_astray(cpa_stream(writes));
	}
	cpa_descriptor_set(fd, word);
}

void cpa_descriptor_copied(int from, int to)
{
	uint64_t word = cpa_descriptor_is_kept(from) ? cpa_descriptor_word(from) : 0;
	uint32_t writes = cpa_descriptor_writes(word);

	if (unlikely(writes) && to >= 0 && *cpa_alive && !is_vforked()) {
		cpa_holder_more(cpa_stream(writes));
		if (!cpa_descriptor_is_kept(to))
			cpa_holder_astray(cpa_stream(writes));
	}
	if (to >= 0 && unlikely(talk_of(to) != talk_of(from)) && !is_vforked())
		begin_talk(to, talk_of(from));
	cpa_descriptor_set(to, word);
}

/* The word @word of @fd may be that of a file that is closed: the next use looks again. */
static void doubt(int fd, uint64_t word)
{
	uint64_t unknown = is_end(word) ? CPA_DESCRIPTOR_PROMISING : 0;

	/* Relaxed: a word is all that there is. */
	__atomic_compare_exchange_n(&cpa_descriptor[fd], &word, unknown, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

/* Replace the word @before of @fd by @word, found since there were @seen closes. */
static void keep(int fd, uint64_t before, uint64_t word, uint32_t seen)
{
	note_highest((uint32_t)fd);
	/* SEQ_CST, both: pairs with cpa_descriptor_closed(), which finds the word or is found. */
	if (__atomic_compare_exchange_n(&cpa_descriptor[fd], &before, word, false, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED) &&
	    __atomic_load_n(&closes, __ATOMIC_SEQ_CST) != seen)
		doubt(fd, word);
}

static uint64_t look(struct cpa_worker *w, int fd)
{
	int err = errno;
	bool inside = cpa_tls.inside;
	/* ACQUIRE: the look comes after it. Pairs with cpa_descriptor_closed(). */
	uint32_t seen = __atomic_load_n(&closes, __ATOMIC_ACQUIRE);
	uint64_t before = cpa_descriptor_word(fd), word;

	cpa_reenter();
	word = cpa_look(w, fd);
	cpa_tls.inside = inside;
	if (word && !is_vforked())
		keep(fd, before, word, seen);
	errno = err;
	return word;
}

uint64_t cpa_descriptor_look_in(struct cpa_worker *w, int fd)
{
	uint64_t word = look(w, fd);

	/* It was not counted, or is no longer: another thread closed a number meanwhile. */
	if (cpa_descriptor_writes(word))
		cpa_holder_astray(cpa_stream(cpa_descriptor_writes(word)));
	return word;
}

/* If inside, the caller is in a signal handler, which may have interrupted a stamp of the clock. */
static struct cpa_worker *looking(void)
{
	return cpa_tls.inside ? NULL : cpa_tls.worker;
}

uint64_t cpa_descriptor_look(int fd)
{
	return cpa_descriptor_look_in(looking(), fd);
}

/* Row of the stream with an end that @word writes; 0: none. */
static uint32_t ended_by(uint64_t word)
{
	uint32_t writes = cpa_descriptor_writes(word);

	return writes && cpa_stream_has_end(cpa_stream(writes)) ? writes : 0;
}

/* Whoever reads or writes the other ends of @word goes on. Inside, at an event. */
static void leave_ends(struct cpa_worker *w, uint64_t word)
{
	uint32_t reads = cpa_descriptor_reads(word), writes = ended_by(word);

	if (writes) {
		cpa_stream_close(&w->self, cpa_stream(writes));
		cpa_stream_closed(cpa_stream(writes), CPA_STREAM_NO_WRITER);
	}
	if (reads) {
		if (cpa_stream_is_written(cpa_stream(reads)))
			cpa_stream_room(&w->self, cpa_stream(reads), CPA_ROOM_CLOSE, 0);
		cpa_stream_closed(cpa_stream(reads), CPA_STREAM_NO_READER);
	}
}

/* The ends of @word are closed: the records of their streams are kept for a while. Inside our code only. */
static void keep_records(struct cpa_worker *w, uint64_t word)
{
	uint32_t reads = cpa_descriptor_reads(word), writes = cpa_descriptor_writes(word);

	if (reads)
		cpa_unread_closed(&w->self, reads);
	if (writes && writes != reads)
		cpa_unread_closed(&w->self, writes);
}

#define NOT_TIMED UINT32_MAX

/* One descriptor less writes the stream of @word. */
static void count_less(uint64_t word)
{
	uint32_t writes = cpa_descriptor_writes(word);

	if (writes)
		cpa_holder_less(cpa_stream(writes));
}

/* Return the row of the stream that the thread says it ends; or NOT_TIMED. */
static __attribute__((noinline)) uint32_t leave(uint64_t word, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = is_end(word) ? cpa_enter() : NULL;
	uint32_t ends = w ? ended_by(word) : 0;

	if (ends)
		cpa_holder_closing(cpa_stream(ends));
	if (w) {
		cpa_event(w, CPA_EV_CLOSE, caller, 0);
		leave_ends(w, word);
		cpa_done(w);
	}
	errno = err;
	return ends ? ends : NOT_TIMED;
}

/* Whether there may be records to keep of the ends of @word, which are closed. */
static bool is_over(uint64_t word)
{
	uint32_t reads = cpa_descriptor_reads(word), writes = cpa_descriptor_writes(word);

	return (reads && cpa_unread_is_over(cpa_stream(reads))) ||
	       (writes && cpa_unread_is_over(cpa_stream(writes)));
}

/* There is one descriptor less of the streams of @word, also while profiling is off. */
static __attribute__((noinline)) void close_ends(uint64_t word)
{
	struct cpa_worker *w;
	int err;

	count_less(word);
	if (!is_over(word))
		return;
	err = errno;
	w = cpa_enter_known();
	if (w) {
		keep_records(w, word);
		cpa_leave();
	}
	errno = err;
}

uint32_t cpa_descriptor_closing(int fd, uint64_t caller)
{
	uint32_t closing = 0; /* row of the stream that is said to end, or NOT_TIMED; 0: no end */
	uint64_t word;
	bool talks;

	if (!cpa_descriptor_is_kept(fd))
		return 0;
	word = cpa_descriptor_word(fd);
	talks = talk_of(fd) != QUIET;
	if (!(word || talks) || is_vforked())
		return 0;
	if (talks)
		begin_talk(fd, QUIET);
	if (!word)
		return 0;
	if (unlikely(is_end(word)) && *cpa_alive) {
		if (!(word & CPA_DESCRIPTOR_KNOWN))
			word = cpa_descriptor_look(fd);
		closing = leave(word, caller);
		cpa_holders_move();
		close_ends(word);
	}
	forget(fd);
	return closing;
}

/* As cpa_holder_closed(), of what leave() returned. */
static void ended(uint32_t closing, uint64_t now)
{
	if (closing != NOT_TIMED && *cpa_alive)
		cpa_holder_closed(cpa_stream(closing), now);
}

void cpa_descriptor_was_closed(uint32_t closing)
{
	if (likely(!closing))
		return;
	ended(closing, cpa_clock_now());
	cpa_holders_moved();
}

/* The descriptor is counted less; it may be open, with nobody who says so, or closed. */
void cpa_descriptor_cancelled(uint32_t closing)
{
	if (likely(!closing))
		return;
	if (closing == NOT_TIMED)
		cpa_holders_lost();
	else if (*cpa_alive)
		cpa_holder_astray(cpa_stream(closing));
	ended(closing, 0);
	cpa_holders_moved();
}

uint32_t cpa_descriptor_not_timed(uint32_t closing)
{
	if (likely(!closing))
		return 0;
	ended(closing, 0);
	return NOT_TIMED;
}

void cpa_descriptor_closed(unsigned first, unsigned last)
{
	uint32_t most;

	if (first >= CPA_DESCRIPTORS || is_vforked())
		return;
	/* SEQ_CST, as the loads below: pairs with keep(). */
	__atomic_fetch_add(&closes, 1, __ATOMIC_SEQ_CST);
	most = __atomic_load_n(&highest, __ATOMIC_SEQ_CST);
	for (unsigned fd = first; fd <= last && fd <= most; fd++) {
		uint64_t word = __atomic_load_n(&cpa_descriptor[fd], __ATOMIC_SEQ_CST);

		/* One that was given, or promised, is that of the next file of the number. */
		if ((word & (CPA_DESCRIPTOR_KNOWN | CPA_DESCRIPTOR_GIVEN)) == CPA_DESCRIPTOR_KNOWN)
			doubt((int)fd, word);
	}
}

void cpa_descriptor_replaced(int fd, uint64_t caller)
{
	/* If it was not looked at yet, it is too late now. */
	if (cpa_descriptor_is_kept(fd) && !(cpa_descriptor_word(fd) & CPA_DESCRIPTOR_KNOWN) &&
	    !is_vforked())
		forget(fd);
	cpa_descriptor_was_closed(cpa_descriptor_closing(fd, caller));
	cpa_descriptor_closed((unsigned)fd, (unsigned)fd);
}

uint32_t cpa_descriptor_shutting(int fd, uint64_t caller)
{
	uint64_t word = cpa_descriptor_known(fd);

	if (!cpa_descriptor_writes(word) || is_vforked())
		return NOT_TIMED;
	/* The end is made though there are descriptors. */
	cpa_holder_astray(cpa_stream(cpa_descriptor_writes(word)));
	return leave(CPA_DESCRIPTOR_KNOWN | cpa_descriptor_writes(word), caller);
}

void cpa_descriptor_was_shut(uint32_t shutting)
{
	ended(shutting, cpa_clock_now());
}

void cpa_descriptor_begin(bool counted)
{
	for (int fd = 0; fd < STANDARD; fd++)
		counted ? look(looking(), fd) : cpa_descriptor_look(fd);
}

static bool exec_closes(int fd)
{
	long flags = cpa_kernel(SYS_fcntl, fd, F_GETFD);

	return flags >= 0 && flags & FD_CLOEXEC;
}

static bool execs; /* the process is about to become another program */

/* The next program will have the descriptor @fd, an end of what @word says. */
static void pass_on(uint32_t fd, uint64_t word)
{
	/* It looks at the standard ones. */
	if (cpa_descriptor_writes(word) && fd >= STANDARD)
		cpa_holder_astray(cpa_stream(cpa_descriptor_writes(word)));
}

/* A standard descriptor that was opened by its name, as /dev/stdout: it is not counted so far. */
static uint64_t count_more(struct cpa_worker *w, int fd)
{
	struct stat st;
	uint64_t word;

	if (cpa_kernel(SYS_fstat, fd, &st) || !S_ISFIFO(st.st_mode))
		return 0;
	word = cpa_look(w, fd);
	if (cpa_descriptor_writes(word))
		cpa_holder_more(cpa_stream(cpa_descriptor_writes(word)));
	cpa_descriptor_set(fd, word);
	return word;
}

void cpa_descriptor_end(struct cpa_worker *w, bool exec)
{
	uint32_t last = cpa_descriptor_highest();

	cpa_holders_ending();
	execs = exec;
	for (uint32_t fd = 0; fd <= last; fd++) {
		uint64_t word = cpa_descriptor_word((int)fd);

		if (word & CPA_DESCRIPTOR_PROMISING)
			word = cpa_look(w, (int)fd);
		else if (!word && fd < STANDARD)
			word = count_more(w, (int)fd);
		if (!is_end(word))
			continue;
		if (exec && !exec_closes((int)fd)) {
			pass_on(fd, word);
			continue;
		}
		leave_ends(w, word);
		if (cpa_descriptor_writes(word))
			cpa_stream_closed(cpa_stream(cpa_descriptor_writes(word)), CPA_STREAM_KEPT);
		count_less(word);
		keep_records(w, word);
	}
}

void cpa_descriptor_not_execed(void)
{
	uint32_t last = cpa_descriptor_highest();
	int err = errno;

	if (!execs || !*cpa_alive || is_vforked())
		return;
	execs = false;
	cpa_holders_stay();
	for (uint32_t fd = 0; fd <= last; fd++) {
		uint32_t writes = cpa_descriptor_writes(cpa_descriptor_word((int)fd));

		if (writes && exec_closes((int)fd))
			cpa_holder_more(cpa_stream(writes));
	}
	errno = err;
}
