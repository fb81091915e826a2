/* SPDX-License-Identifier: MIT */
#include "preload/stream/poll.h"

#include <errno.h>

#include "preload/core/track.h"
#include "preload/libc/real.h"
#include "shadow/store/index.h"

#define MOST	 64    /* ready descriptors that are looked at */
#define EPOLLED	 4096u /* registrations that are kept, a power of two */
#define READABLE (POLLIN | POLLHUP | POLLRDHUP | POLLERR)

/* What a wait depends on, while the descriptors that are ready are looked at. */
struct search {
	struct cpa_worker *w;		 /* NULL: only `across` is of interest */
	const struct cpa_across *across; /* until a stream was found; NULL: of no interest */
	uint64_t since;			 /* tick before the call; 0: not known */
	struct cpa_stream_found first;	 /* count 0: none yet */
	uint64_t written; /* to the terminal that was written to first; 0: none yet */
	int terminal;
	enum cpa_stream_kind other; /* of the first one that is not followed; 0: none yet */
	int looked;
	struct cpa_stream *room; /* the one in which a read made room first; NULL: none yet */
	uint64_t made;		 /* clock of that read */
	int asked;		 /* descriptors that were looked at for that */
	/* There is room in it, and it is not known whether there was none before. NULL: none yet. */
	struct cpa_stream *polled;
};

/* As cpa_descriptor_known(), inside. */
static uint64_t known_in(struct cpa_worker *w, int fd)
{
	uint64_t word = cpa_descriptor_is_kept(fd) ? cpa_descriptor_word(fd) : CPA_DESCRIPTOR_KNOWN;

	return word & CPA_DESCRIPTOR_KNOWN ? word : cpa_descriptor_look_in(w, fd);
}

/* The terminal @fd is ready. */
static void look_at_terminal(struct search *search, int fd)
{
	uint64_t written = cpa_terminal_ready(search->w, fd, search->since);

	if (written && (!search->written || written < search->written)) {
		search->written = written;
		search->terminal = fd;
	}
}

/* The write that @fd is ready for, if it was made before what was found so far. */
static void look_at(struct search *search, int fd)
{
	uint64_t word = search->looked++ < MOST ? known_in(search->w, fd) : 0;
	uint32_t row = cpa_descriptor_reads(word);
	struct cpa_stream *s = row ? cpa_stream(row) : NULL;
	struct cpa_self *self = &search->w->self;
	struct cpa_stream_found found;

	if (!search->other)
		search->other = cpa_descriptor_kind(word);
	if (s && s->kind == CPA_STREAM_TERMINAL) {
		look_at_terminal(search, fd);
		return;
	}
	if (!s || (!cpa_stream_next(self, s, &found) &&
		   !(cpa_stream_has_end(s) && cpa_stream_end(self, s, &found))))
		return;
	if (search->first.count && search->first.released <= found.released) {
		cpa_stream_drop(self, &found);
		return;
	}
	if (search->first.count)
		cpa_stream_drop(self, &search->first);
	search->first = found;
}

/* There is room in what @fd writes: it was a read that made it, if there was none. */
static void look_for_room(struct search *search, int fd)
{
	uint64_t word = search->asked++ < MOST ? known_in(search->w, fd) : 0;
	struct cpa_stream *s =
		cpa_descriptor_writes(word) ? cpa_stream(cpa_descriptor_writes(word)) : NULL;
	struct cpa_self *self = &search->w->self;
	struct cpa_stream_found found;

	if (!s || s->kind == CPA_STREAM_TERMINAL)
		return;
	if (!cpa_stream_is_full(s)) {
		search->polled = s;
		return;
	}
	if (!cpa_stream_room_first(self, s, search->w->clock.last, &found))
		return;
	if (!search->room || found.released < search->made) {
		search->room = s;
		search->made = found.released;
	}
	cpa_stream_drop(self, &found);
}

/* The wait went on across borders of parts: it was for what the first descriptor reads that is ready and followed. */
static void look_across(struct search *search, int fd)
{
	uint32_t row = cpa_descriptor_is_kept(fd) ? cpa_descriptor_reads(cpa_descriptor_word(fd)) :
						    0;

	if (row) {
		cpa_across_end(search->across, cpa_stream(row), false);
		search->across = NULL;
	}
}

/* The descriptor @fd is ready for what is in @events. */
static void look(struct search *search, int fd, unsigned events)
{
	if (unlikely(search->across) && events & READABLE)
		look_across(search, fd);
	if (unlikely(!search->w))
		return;
	if (events & READABLE)
		look_at(search, fd);
	else if (events & POLLOUT)
		look_for_room(search, fd);
}

/* The terminal that is ready was written to before the stream that is, if there is one. */
static bool finish_terminal(struct search *search, uint64_t caller)
{
	if (!search->written || (search->first.count && search->first.released < search->written))
		return false;
	if (search->first.count)
		cpa_stream_drop(&search->w->self, &search->first);
	return cpa_terminal_waited(search->w, search->terminal, search->since, 0, CPA_EV_POLL,
				   caller);
}

/* The wait @use is over, and found something if it is @ready. Return whether that is to be looked at. */
static bool begin(struct search *search, const struct cpa_polling *use, bool ready)
{
	*search = (struct search){ .since = use->since };
	if (!ready)
		return false;
	if (cpa_across_is(&use->across))
		search->across = &use->across;
	search->w = cpa_enter();
	return search->w || search->across;
}

static bool finish(struct search *search, uint64_t caller, struct cpa_polling *use)
{
	if (!search->w)
		return false;
	if (finish_terminal(search, caller)) {
		cpa_done(search->w);
		return true;
	}
	if (!search->first.count && search->room) {
		cpa_stream_waited_for_room(search->w, search->room, NULL, 0, caller);
		cpa_done(search->w);
		return true;
	}
	if (!search->first.count) {
		if (search->polled) /* the next time it will be known which read made room */
			cpa_stream_closed(search->polled, CPA_STREAM_POLLED);
		use->other = search->other;
		cpa_leave();
		return false;
	}
	cpa_stream_take(search->w, &search->first, false, true, 0, CPA_EV_POLL, caller);
	cpa_done(search->w);
	return true;
}

bool cpa_poll_ended(const struct pollfd *fds, nfds_t n, int ret, uint64_t caller,
		    struct cpa_polling *use)
{
	int err = errno;
	struct search search;
	bool found;

	if (!begin(&search, use, ret > 0))
		return false;
	for (nfds_t i = 0; i < n && search.looked < MOST; i++)
		look(&search, fds[i].fd, (unsigned)fds[i].revents);
	found = finish(&search, caller, use);
	errno = err;
	return found;
}

/* The program may have made the set larger than an fd_set is. */
static bool is_in(const fd_set *set, int fd)
{
	return set && set->fds_bits[fd / NFDBITS] & (fd_mask)((unsigned long)1 << fd % NFDBITS);
}

bool cpa_select_ended(int n, const fd_set *in, const fd_set *out, int ret, uint64_t caller,
		      struct cpa_polling *use)
{
	int err = errno;
	struct search search;
	bool found;

	if (!begin(&search, use, ret > 0 && (in || out)))
		return false;
	for (int fd = 0; fd < n && search.looked < MOST; fd++)
		look(&search, fd, (is_in(in, fd) ? POLLIN : 0) | (is_in(out, fd) ? POLLOUT : 0));
	found = finish(&search, caller, use);
	errno = err;
	return found;
}

/*
 * The descriptor that the program registered with its data in an epoll instance, by a hash of both.
 * A later registration may take the place of another, and a descriptor may be closed: whoever finds
 * one looks what it reads. {hash:32, descriptor + 1:32}; atomic.
 */
static uint64_t epolled[EPOLLED];

static uint64_t hash_of(int epoll, uint64_t data)
{
	return cpa_index_hash(data ^ (uint64_t)(uint32_t)epoll << 32);
}

static void register_data(int epoll, uint64_t data, int fd)
{
	uint64_t hash = hash_of(epoll, data);

	/* Relaxed: a word is all that there is. */
	__atomic_store_n(&epolled[hash % EPOLLED], hash >> 32 << 32 | (uint32_t)(fd + 1),
			 __ATOMIC_RELAXED);
}

/* -1: not known. */
static int registered(int epoll, uint64_t data)
{
	uint64_t hash = hash_of(epoll, data);
	uint64_t word = __atomic_load_n(&epolled[hash % EPOLLED], __ATOMIC_RELAXED);

	return word >> 32 == hash >> 32 ? (int)(uint32_t)word - 1 : -1;
}

CPA_EXPORT int epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
	int ret = REAL(epoll_ctl)(epoll, operation, fd, event);

	if (!ret && operation != EPOLL_CTL_DEL)
		register_data(epoll, event->data.u64, fd);
	return ret;
}

bool cpa_epoll_ended(int epoll, const struct epoll_event *events, int ret, uint64_t caller,
		     struct cpa_polling *use)
{
	int err = errno;
	struct search search;
	bool found;

	if (!begin(&search, use, ret > 0))
		return false;
	for (int i = 0; i < ret && search.looked < MOST; i++)
		if (events[i].events & (READABLE | POLLOUT))
			look(&search, registered(epoll, events[i].data.u64), events[i].events);
	found = finish(&search, caller, use);
	errno = err;
	return found;
}
