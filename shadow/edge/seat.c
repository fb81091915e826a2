/* SPDX-License-Identifier: MIT */
#include "shadow/edge/seat.h"

#include "shadow/edge/acquire.h"
#include "shadow/edge/object.h"
#include "shadow/journal/journal.h"
#include "shadow/path/path.h"

/* The seats of other threads at a meeting, one after the other. */
struct others {
	const struct cpa_seats *seats;
	enum cpa_meeting which;
	uint32_t at, members, own;
};

/* The next path that was ever published there; NULL: no more. */
static const struct cpa_path *next(struct others *o)
{
	uint32_t seat, i;

	while (o->seats && o->at < o->members) {
		i = o->at++;
		seat = o->seats->seat[i % CPA_SEATS][o->which];
		if (i % CPA_SEATS == CPA_SEATS - 1)
			/* ACQUIRE pairs with who added it. */
			o->seats = __atomic_load_n(&o->seats->next, __ATOMIC_ACQUIRE);
		if (seat && i != o->own)
			return cpa_seat_path(seat);
	}
	return NULL;
}

/* The latest release. All are fetched meanwhile. */
static const struct cpa_path *latest_of(struct others o)
{
	const struct cpa_path *path, *latest = NULL;

	while ((path = next(&o))) {
		cpa_seat_fetch(path, false);
		if (!latest || path->released > latest->released)
			latest = path;
	}
	return latest;
}

void cpa_seat_release(struct cpa_self *self, uint32_t *seat, uint32_t readers)
{
	if (unlikely(!*seat))
		*seat = cpa_path_row_new(self);
	cpa_journal_release(self, NULL, 0, readers);
	if (likely(*seat))
		cpa_path_publish(self, cpa_seat_path(*seat), &self->row->path);
}

/* The observed path is that of the latest release; then the others need no order. */
void cpa_seats_acquired(struct cpa_self *self, const struct cpa_seats *seats,
			enum cpa_meeting which, uint32_t members, uint32_t own, struct cpa_wait *w)
{
	struct others o = { .seats = seats, .which = which, .members = members, .own = own };
	const struct cpa_path *latest = latest_of(o), *path, *one = NULL;
	uint32_t from;

	w->observed_only = self->inner;
	w->matched = true; /* who released nothing came to its end before this thread */
	cpa_acquire_path(self, latest, w);
	if (likely(members <= 2))
		return;
	from = w->from;
	w->arrived = w->now;
	while ((path = next(&o))) {
		if (path == latest)
			continue;
		if (one)
			cpa_acquire_both(self, one, path, w);
		one = one ? NULL : path;
	}
	if (one)
		cpa_acquire_path(self, one, w);
	w->from = from;
}
