/* SPDX-License-Identifier: MIT */
#include "preload/stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "preload/core/event.h"
#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/stream/terminal.h"
#include "shadow/edge/holder.h"
#include "shadow/edge/message.h"
#include "shadow/edge/unread.h"
#include "shadow/graph/activity.h"
#include "shadow/store/epoch.h"
#include "shadow/store/kernel.h"

/*
 * The number of an eventfd at @bytes; 0: it cannot be read. The program may pass an address that is not
 * mapped. So the kernel tries first: it reads a signal mask there, and then finds that -1 is nothing it
 * could do with it.
 */
static uint64_t value_at(const void *bytes)
{
	uint64_t value = 0;
	int err = errno;

	if (bytes && cpa_kernel(SYS_rt_sigprocmask, -1, bytes, NULL, sizeof(value)) &&
	    errno == EINVAL)
		memcpy(&value, bytes, sizeof(value));
	errno = err;
	return value;
}

/*
 * How far a call moved the stream that returned @ret. @value: of an eventfd. What is beyond the numbers that are
 * counted here moves it by one: more might not be told from threads in a write.
 */
static uint64_t moved(struct cpa_stream *s, ssize_t ret, uint64_t value)
{
	if (ret <= 0)
		return 0;
	if (likely(s->kind != CPA_STREAM_EVENTFD))
		return (uint64_t)ret;
	/* Relaxed, the store: numbers of bytes no longer tell who wrote them. */
	if (!value || value > UINT32_MAX) /* zero: in pieces */
		__atomic_store_n(&s->broken, 1, __ATOMIC_RELAXED);
	return value > UINT32_MAX ? 1 : value;
}

/*
 * What a read or write by name that returned @ret is called: a message by its length. 0: it failed, or no reader
 * is woken by it.
 */
static uint64_t name_of(const struct cpa_stream_use *use, ssize_t ret)
{
	if (ret < 0 || (!ret && use->stream->kind == CPA_STREAM_TERMINAL))
		return 0;
	return use->stream->kind == CPA_STREAM_CONNECTION ? use->name : (uint64_t)ret + 1;
}

/* A close wakes those that read the other end: later, it was another close that did. */
#define CLOSE_WAKES_NS UINT64_C(10000000)

/*
 * Whether the end that ended @wait, from @arrived, was none of those that were seen: a program outside the
 * session had the stream open, too. If it is not known who had it, what was seen came before the wait, or
 * long before its end.
 */
static bool is_unseen_end(const struct cpa_worker *w, const struct cpa_stream_found *found,
			  const struct cpa_wait *wait, uint64_t arrived)
{
	enum cpa_holders left = cpa_holders(found->stream);
	uint64_t closed = cpa_holders_closed(found->stream, left, found->released);

	if (left == CPA_HOLDERS_SOME ||
	    (left == CPA_HOLDERS_UNKNOWN && closed && closed <= arrived))
		return true;
	/* Where it is not known how long the thread was ready before it ran, that may be long. */
	return closed && (wait->runqueue || w->clock.schedstat >= 0) &&
	       wait->now - wait->runqueue > closed + cpa_clock_ticks(CLOSE_WAKES_NS);
}

void cpa_stream_not_followed(enum cpa_stream_kind kind, uint64_t ticks)
{
	int err = errno;
	struct cpa_worker *w = kind && ticks ? cpa_enter() : NULL;

	if (w) {
		cpa_stream_outside(&w->self, kind, ticks);
		cpa_leave();
	}
	errno = err;
}

void cpa_stream_take(struct cpa_worker *w, struct cpa_stream_found *found, bool took, bool blocked,
		     uint64_t called, enum cpa_event_kind kind, uint64_t caller)
{
	struct cpa_wait wait = { 0 };
	uint64_t arrived;

	if (blocked)
		blocked = cpa_event_waited(w, kind, caller, found->released > called ? called : 0,
					   &wait);
	else
		wait.now = wait.arrived = cpa_event_usual(w, kind, caller, 0);
	arrived = wait.arrived;
	if (unlikely(blocked && found->ends && is_unseen_end(w, found, &wait, arrived))) {
		cpa_stream_drop(&w->self, found);
		cpa_acquire_path(&w->self, NULL, &wait);
		cpa_unexplained(w, kind == CPA_EV_POLL ? CPA_EXT_POLL : CPA_EXT_INPUT,
				wait.now - arrived);
		return;
	}
	if (unlikely(blocked && found->stream->kind == CPA_STREAM_UDP))
		cpa_message_renew(&w->self, found, took, arrived);
	cpa_stream_join(&w->self, found, took, blocked, &wait);
	if (wait.from)
		cpa_dependency(&w->self, &wait, wait.now - arrived);
}

/* A thread is in a write to the stream, and may wait for room. */
static __attribute__((noinline)) void makes_room(struct cpa_stream_use *use, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();

	if (w) {
		cpa_event(w, CPA_EV_READ, caller, 0);
		cpa_stream_room(&w->self, use->stream, CPA_ROOM_READ,
				cpa_stream_took(use->stream, 0));
		cpa_done(w);
		use->room = true;
	}
	errno = err;
}

/* The tick of the call that began, if the thread was on a processor since its last event; else 0. */
static uint64_t called_at(const struct cpa_across *call)
{
	const struct cpa_worker *w = cpa_tls.worker;

	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the counter is read before the detector */
	return likely(w && cpa_epoch_is_on(call->epoch) && !cpa_clock_switched(&w->clock)) ?
		       call->since :
		       0;
}

/* What cpa_stream_read_begin() and cpa_stream_write() would have set. */
void cpa_stream_was_off(struct cpa_stream_use *use)
{
	use->off = use->room = false;
	use->name = use->socket = use->peer = 0;
	use->called = 0;
	use->record.stream = NULL;
	use->value = 0;
	use->bare = true;
}

void cpa_stream_read_begin(struct cpa_stream_use *use, uint64_t caller)
{
	use->off = use->room = false;
	use->name = use->socket = use->peer = 0;
	if (*cpa_alive)
		cpa_stream_will_be_read(use->stream);
	/* A copy of the descriptor may have been closed. */
	if (unlikely(use->stream->kind == CPA_STREAM_UDP) && *cpa_alive)
		cpa_stream_opened(use->stream, CPA_STREAM_NO_READER);
	if (unlikely(cpa_stream_is_written(use->stream)))
		makes_room(use, caller);
	use->across = cpa_across_begin();
	use->called = called_at(&use->across);
}

/* Find what a read depends on that took @n bytes. */
static bool find(struct cpa_worker *w, const struct cpa_stream_use *use, ssize_t ret, uint64_t n,
		 struct cpa_stream_found *found)
{
	struct cpa_stream *s = use->stream;

	if (likely(!cpa_stream_is_by_name(s)))
		return ret ? cpa_stream_read(&w->self, s, n, found) :
			     cpa_stream_end(&w->self, s, found);
	/* Relaxed: a close that was seen came before the read that found the end. */
	if (!ret && cpa_stream_has_end(s) && __atomic_load_n(&s->ended, __ATOMIC_RELAXED))
		return cpa_stream_end(&w->self, s, found);
	if (s->kind == CPA_STREAM_CONNECTION)
		return cpa_message_accept(&w->self, s, use->name, use->peer, found);
	return cpa_message_read(&w->self, s, name_of(use, ret), n, found);
}

/* The read of a terminal took @n bytes. Return whether there was an event: cpa_terminal_waited(). */
static bool read_terminal(struct cpa_worker *w, const struct cpa_stream_use *use, uint64_t n,
			  bool blocked, uint64_t caller)
{
	cpa_stream_took(use->stream, n);
	cpa_stream_reader(&w->self, use->stream);
	return n && blocked &&
	       cpa_terminal_waited(w, use->fd, use->called, use->called, CPA_EV_READ, caller);
}

/* The read @use is over. Return whether there was an event. */
static bool depends(struct cpa_worker *w, struct cpa_stream_use *use, ssize_t ret, uint64_t n,
		    bool blocked, uint64_t caller)
{
	struct cpa_stream_found found;

	if (unlikely(use->stream->kind == CPA_STREAM_TERMINAL))
		return read_terminal(w, use, n, blocked, caller);
	if (!find(w, use, ret, n, &found))
		return false;
	if (unlikely(use->stream->kind == CPA_STREAM_CONNECTION))
		use->socket = cpa_message_socket(&found);
	cpa_stream_take(w, &found, !found.ends, blocked, use->called, CPA_EV_READ, caller);
	return true;
}

/* Whether behind a read that returned @ret the thread leaves its path for writers that wait for room. */
static bool leaves_room(const struct cpa_stream_use *use, ssize_t ret, bool is_known, bool blocked)
{
	const struct cpa_stream *s = use->stream;

	if (likely(!cpa_stream_is_written(s)) || (!blocked && use->room))
		return false;
	if (s->kind == CPA_STREAM_TERMINAL) /* or the terminal was empty: nobody waited for room */
		return is_known || !blocked;
	return ret || cpa_stream_is_by_name(s);
}

bool cpa_stream_was_read(struct cpa_stream_use *use, ssize_t ret, const void *bytes,
			 uint64_t caller)
{
	struct cpa_stream *s = use->stream;
	bool is_value = ret == sizeof(uint64_t) && s->kind == CPA_STREAM_EVENTFD;
	uint64_t n = moved(s, ret, is_value ? value_at(bytes) : 0);
	struct cpa_worker *w;
	bool is_known, blocked;
	int err = errno;

	if (ret < 0)
		return false;
	if (cpa_across_is(&use->across)) {
		cpa_across_end(&use->across, s, false);
		use->across.epoch = 0; /* a call may have read several messages */
	}
	w = cpa_enter();
	if (!w) {
		if (*cpa_alive)
			cpa_stream_took(s, n);
		return false;
	}
	blocked = cpa_stream_was_blocked(w);
	is_known = depends(w, use, ret, n, blocked, caller);
	if (unlikely(leaves_room(use, ret, is_known, blocked))) {
		/* The writer came after the read began: it may still find this. */
		if (!is_known)
			cpa_event(w, CPA_EV_READ, caller, 0);
		cpa_stream_room(&w->self, s, CPA_ROOM_READ, cpa_stream_took(s, 0) - n);
		is_known = true;
	}
	if (is_known)
		cpa_done_usual(w);
	else
		cpa_leave();
	errno = err;
	return is_known;
}

/* There were so many writes that nobody in the session reads: the kernel knows whether somebody has. */
static __attribute__((noinline)) void decide(struct cpa_worker *w, const struct cpa_stream_use *use)
{
	unsigned long number = use->stream->kind == CPA_STREAM_PIPE ? FIONREAD : SIOCOUTQ;
	int waiting = -1;

	if (cpa_kernel(SYS_ioctl, use->fd, number, &waiting) == 0 && waiting >= 0)
		cpa_unread_decide(&w->self, use->stream, (uint64_t)waiting);
}

/* Nobody will ask who wrote this. */
static void write_bare(struct cpa_stream_use *use)
{
	use->bare = *cpa_alive;
	if (use->bare)
		cpa_stream_write_bare(use->stream);
}

void cpa_stream_write(struct cpa_stream_use *use, const void *bytes, size_t size, uint64_t caller)
{
	struct cpa_stream *s = use->stream;
	struct cpa_worker *w;
	int err = errno;

	use->off = false;
	use->record.stream = NULL;
	use->across.epoch = 0;
	use->there = cpa_stream_there(s);
	use->name = use->socket = use->peer = 0;
	if (unlikely(cpa_unread_is_outward(s))) {
		if (*cpa_alive && cpa_epoch_is_on(cpa_epoch_seen()))
			cpa_unread_write(s);
		write_bare(use);
		return;
	}
	use->value = s->kind == CPA_STREAM_EVENTFD ? value_at(bytes) : 0;
	w = cpa_enter();
	if (w) {
		use->across = (struct cpa_across){ w->window.epoch,
						   cpa_event_usual(w, CPA_EV_WRITE, caller, 0) };
		if (unlikely(cpa_unread_is_much(s)))
			decide(w, use);
		cpa_stream_write_begin(&w->self, s, size, &use->record);
		cpa_done_usual(w);
	} else {
		use->across = cpa_across_begin();
		write_bare(use);
	}
	errno = err;
}

/* How many bytes the stream that the write @use was of holds at most. UINT64_MAX: it is not known. errno is kept. */
static uint64_t size_of(const struct cpa_stream_use *use)
{
	int err = errno;
	long size = use->stream->kind == CPA_STREAM_PIPE && !use->stream->broken ?
			    cpa_kernel(SYS_fcntl, use->fd, F_GETPIPE_SZ) :
			    -1;

	errno = err;
	return size > 0 ? (uint64_t)size : UINT64_MAX;
}

/*
 * The write @use, of the bytes up to number @end, went through when those in front of a number were read, as a pipe
 * holds no more: return that. 0: it is not known.
 */
static uint64_t had_to_be_read(const struct cpa_stream_use *use, uint64_t end)
{
	uint64_t size = size_of(use);

	return end > size ? end - size : 0;
}

void cpa_stream_waited_for_room(struct cpa_worker *w, struct cpa_stream *s,
				const struct cpa_stream_use *use, uint64_t end, uint64_t caller)
{
	struct cpa_wait wait = { 0 };
	struct cpa_stream_found found;
	uint64_t arrived, to;

	if (!cpa_event_waited(w, CPA_EV_WRITE, caller, 0, &wait))
		return;
	arrived = wait.arrived;
	if (cpa_stream_room_made(&w->self, s, arrived, wait.now - wait.runqueue, &found)) {
		to = end ? had_to_be_read(use, end) : 0;
		if (to)
			cpa_stream_room_last(&w->self, s, arrived, to, &found);
		cpa_stream_room_join(&w->self, &found, &wait);
		if (wait.from)
			cpa_dependency(&w->self, &wait, wait.now - arrived);
	} else {
		cpa_acquire_path(&w->self, NULL, &wait);
		cpa_unexplained(w, CPA_EXT_UNSEEN, wait.now - arrived);
	}
}

/* Of a terminal there may be other reasons to wait: it is for room if there was a read. */
static bool may_wait_for_room(struct cpa_worker *w, struct cpa_stream *s)
{
	struct cpa_stream_found found;

	if (likely(s->kind != CPA_STREAM_TERMINAL) || !cpa_stream_has_rooms(s))
		return cpa_stream_has_rooms(s);
	if (!cpa_stream_room_first(&w->self, s, w->clock.last, &found))
		return false;
	cpa_stream_drop(&w->self, &found);
	return true;
}

/*
 * The thread was switched out in a write, of the bytes up to number @end, 0 if that is not known. Return whether it
 * is known why: another took its processor, as there was room, or it waited for that.
 */
static bool was_known(struct cpa_worker *w, const struct cpa_stream_use *use, uint64_t end,
		      uint64_t caller)
{
	struct cpa_stream *s = use->stream;

	if (use->record.fits)
		return cpa_preempted(w, CPA_BRIEF_WRITE);
	if (!may_wait_for_room(w, s))
		return false;
	cpa_stream_waited_for_room(w, s, use, end, caller);
	cpa_done(w);
	return true;
}

/*
 * As cpa_stream_write_end(). Return the number behind the last byte of a write that may have waited several times; 0:
 * it did not, or that is not known, as another write of the stream ended meanwhile.
 */
static uint64_t end_blocked(struct cpa_worker *w, struct cpa_stream_use *use, uint64_t n)
{
	const struct cpa_token *token = use->record.token;
	/* Relaxed: the thread's own, or one that has taken its place; a number more or less. */
	uint64_t then = token ? __atomic_load_n(&token->key, __ATOMIC_RELAXED) : UINT64_MAX;
	uint64_t begin = cpa_stream_write_end(&w->self, &use->record, n);

	return begin == then && n > PIPE_BUF ? begin + n : 0;
}

bool cpa_stream_was_written(struct cpa_stream_use *use, ssize_t ret, uint64_t caller)
{
	struct cpa_stream *s = use->stream;
	uint64_t n = moved(s, ret, use->value);
	struct cpa_worker *w;
	uint64_t end = 0;
	int err = errno;
	bool is_known, blocked;

	if (!*cpa_alive)
		return false;
	/*
	 * A full pipe holds more than half of its bytes: the kernel adds a write to the last page if it has room.
	 */
	if (cpa_across_is(&use->across) && use->there + n > size_of(use) / 2)
		cpa_across_end(&use->across, s, true);
	if (unlikely(!use->record.stream)) {
		use->bare ? cpa_stream_wrote_bare(s, n) : cpa_stream_wrote(s, n);
		return false;
	}
	w = cpa_enter_any();
	if (!w) { /* the thread is no longer followed */
		cpa_stream_wrote(s, n);
		return false;
	}
	blocked = cpa_stream_was_blocked(w);
	if (unlikely(cpa_stream_is_by_name(s)))
		cpa_message_write_end(&w->self, &use->record, name_of(use, ret), n);
	else if (unlikely(blocked))
		end = end_blocked(w, use, n);
	else
		cpa_stream_write_end(&w->self, &use->record, n);
	is_known = likely(!blocked) || (cpa_window_is_in(w) && was_known(w, use, end, caller));
	cpa_leave();
	errno = err;
	return is_known;
}
