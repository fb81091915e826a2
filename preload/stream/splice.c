/* SPDX-License-Identifier: MIT */
#include "preload/stream/splice.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <time.h>

#include "preload/core/event.h"
#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/stream/stream.h"
#include "shadow/store/kernel.h"

/* Ask the kernel whether there are bytes, and room in a pipe: of a socket it does not say exactly. */
static void ask(struct cpa_splice *use, int in, int out)
{
	bool is_pipe = use->out->kind == CPA_STREAM_PIPE;
	struct pollfd ends[2] = { { in, POLLIN, 0 }, { is_pipe ? out : -1, POLLOUT, 0 } };
	struct timespec none = { 0 };
	int err = errno;

	if (cpa_kernel(SYS_ppoll, ends, 2, &none, NULL, 0) >= 0) {
		use->filled = ends[0].revents;
		use->roomy = is_pipe && ends[1].revents;
		use->full = is_pipe && !ends[1].revents;
	}
	errno = err;
}

/* What the call would wait for, as far as is known. The caller alone reads one stream and writes the other. */
static void look(struct cpa_splice *use, int in, int out, unsigned flags)
{
	use->filled = !use->in->broken && cpa_stream_is_filled(use->in);
	use->roomy = use->out->kind == CPA_STREAM_PIPE && !use->out->broken &&
		     cpa_stream_is_empty(use->out);
	use->full = false;
	if (!use->filled && !use->roomy && !(flags & SPLICE_F_NONBLOCK))
		ask(use, in, out);
}

/* Times that the thread has slept. UINT64_MAX: not known. */
static uint64_t slept(void)
{
	struct rusage usage;
	int err = errno;
	bool known = cpa_kernel(SYS_getrusage, RUSAGE_THREAD, &usage) >= 0;

	errno = err;
	return known ? (uint64_t)usage.ru_nvcsw : UINT64_MAX;
}

/* It has neither bytes nor, as far as is known, room in a socket. */
static bool may_wait_in_turn(const struct cpa_splice *use, unsigned flags)
{
	return !use->filled && !use->roomy && use->out->kind != CPA_STREAM_PIPE &&
	       !(flags & SPLICE_F_NONBLOCK);
}

void cpa_splice_begins(struct cpa_splice *use, int in, int out, size_t n, unsigned flags,
		       bool takes, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();

	use->takes = takes;
	use->room = false;
	if (*cpa_alive)
		cpa_stream_will_be_read(use->in);
	use->record.stream = NULL;
	use->bare = !w && *cpa_alive;
	if (use->bare)
		cpa_stream_write_bare(use->out);
	if (!w)
		return;
	use->begun = cpa_event(w, CPA_EV_WRITE, caller, 0);
	look(use, in, out, flags);
	cpa_stream_write_begin(&w->self, use->out, n, &use->record);
	cpa_stream_pass(&use->record, use->row);
	use->roomy |= use->record.fits;
	use->slept = may_wait_in_turn(use, flags) ? slept() : UINT64_MAX;
	/* A call that waits for room makes none before. */
	if (takes && use->roomy && cpa_stream_is_written(use->in)) {
		cpa_stream_room(&w->self, use->in, CPA_ROOM_READ, cpa_stream_took(use->in, 0));
		use->room = true;
	}
	cpa_done(w);
	errno = err;
}

/* It depends on the read that was @found, and was @blocked until then. */
static void join_room(struct cpa_worker *w, struct cpa_stream_found *found, bool blocked,
		      uint64_t caller)
{
	struct cpa_wait wait = { 0 };
	uint64_t arrived;

	if (blocked)
		cpa_event_waited(w, CPA_EV_WRITE, caller, 0, &wait);
	else
		wait.now = wait.arrived = cpa_event(w, CPA_EV_WRITE, caller, 0);
	arrived = wait.arrived;
	cpa_stream_room_join(&w->self, found, &wait);
	if (wait.from)
		cpa_dependency(&w->self, &wait, wait.now - arrived);
}

/* There was neither a byte nor room: it depends on both, and waited for the later one. */
static void join_both(struct cpa_worker *w, struct cpa_stream_found *bytes,
		      struct cpa_stream_found *room, uint64_t caller)
{
	bool for_room = room->released > bytes->released;

	if (for_room)
		join_room(w, room, true, caller);
	cpa_stream_take(w, bytes, false, !for_room, 0, CPA_EV_READ, caller);
	if (!for_room)
		join_room(w, room, false, caller);
}

/* Whether the call slept once for bytes, and once more. */
static bool waited_in_turn(const struct cpa_splice *use)
{
	uint64_t now = use->slept == UINT64_MAX ? UINT64_MAX : slept();

	return now != UINT64_MAX && now - use->slept >= 2;
}

/*
 * It waited for the @bytes, and then for room in the stream @out: it depends on both, and waited for the latest read
 * before it went on. Return false, joining nothing, if there was no read since the bytes were written.
 */
static bool join_in_turn(struct cpa_worker *w, struct cpa_stream_found *bytes,
			 struct cpa_stream *out, uint64_t caller)
{
	struct cpa_stream_found room;
	struct cpa_wait wait = { 0 };
	uint64_t arrived;

	if (!cpa_stream_room_first(&w->self, out, bytes->released, &room))
		return false;
	cpa_stream_drop(&w->self, &room);
	if (cpa_event_waited(w, CPA_EV_WRITE, caller, 0, &wait) &&
	    cpa_stream_room_made(&w->self, out, bytes->released, wait.now - wait.runqueue, &room)) {
		arrived = wait.arrived;
		cpa_stream_room_join(&w->self, &room, &wait);
		if (wait.from)
			cpa_dependency(&w->self, &wait, wait.now - arrived);
	}
	cpa_stream_take(w, bytes, false, false, 0, CPA_EV_READ, caller);
	return true;
}

/*
 * The call is back, and depends on the writes @found (NULL: they are not known). Return whether there was
 * an event.
 */
static bool join(struct cpa_worker *w, const struct cpa_splice *use, struct cpa_stream_found *found,
		 bool blocked, uint64_t caller)
{
	bool for_room = blocked && use->filled && !use->roomy;
	struct cpa_stream_found room;

	if (for_room && cpa_stream_has_rooms(use->out))
		cpa_stream_waited_for_room(w, use->out, NULL, 0, caller);
	else if (for_room)
		cpa_event_external(w, CPA_EXT_WRITE, caller);
	if (found && blocked && use->full && !for_room &&
	    cpa_stream_room_first(&w->self, use->out, use->begun, &room))
		join_both(w, found, &room, caller);
	else if (found && blocked && !for_room && waited_in_turn(use) &&
		 join_in_turn(w, found, use->out, caller))
		;
	else if (found)
		cpa_stream_take(w, found, false, blocked && !for_room, 0, CPA_EV_READ, caller);
	return found || for_room;
}

/* The call moved @n bytes, or met the end. */
static bool moved(struct cpa_worker *w, struct cpa_splice *use, uint64_t n, uint64_t caller)
{
	uint64_t from = cpa_stream_took(use->in, use->takes ? n : 0);
	bool blocked = cpa_stream_was_blocked(w), matched, is_known;
	struct cpa_stream_found found;

	matched = n ? cpa_stream_read_from(&w->self, use->in, from, n, &found) :
		      cpa_stream_end(&w->self, use->in, &found);
	is_known = join(w, use, matched ? &found : NULL, blocked, caller);
	if (use->takes && n && (blocked || !use->room) && cpa_stream_is_written(use->in)) {
		if (!is_known)
			cpa_event(w, CPA_EV_READ, caller, 0);
		cpa_stream_room(&w->self, use->in, CPA_ROOM_READ, from);
		is_known = true;
	}
	if (is_known && n)
		cpa_stream_pass_end(&w->self, &use->record, from, n);
	else
		cpa_stream_write_end(&w->self, &use->record, n);
	if (matched && n && use->takes)
		cpa_stream_sweep(&w->self, &found, w->self.row->path.released);
	return is_known;
}

static void count(const struct cpa_splice *use, uint64_t n)
{
	cpa_stream_took(use->in, use->takes ? n : 0);
	use->bare ? cpa_stream_wrote_bare(use->out, n) : cpa_stream_wrote(use->out, n);
}

bool cpa_splice_ended(struct cpa_splice *use, ssize_t ret, size_t n, uint64_t caller)
{
	uint64_t bytes = ret > 0 ? (uint64_t)ret : 0;
	bool is_known = false;
	struct cpa_worker *w;
	int err = errno;

	if (!*cpa_alive)
		return false;
	w = use->record.stream ? cpa_enter_any() : NULL;
	if (unlikely(!w)) {
		count(use, bytes);
		return false;
	}
	if (likely(ret >= 0 && n && cpa_window_is_in(w))) {
		is_known = moved(w, use, bytes, caller);
	} else {
		cpa_stream_took(use->in, use->takes ? bytes : 0);
		cpa_stream_write_end(&w->self, &use->record, bytes);
	}
	if (is_known)
		cpa_done(w);
	else
		cpa_leave();
	errno = err;
	return is_known;
}
