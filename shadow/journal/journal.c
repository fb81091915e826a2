/* SPDX-License-Identifier: MIT */
#include "shadow/journal/journal_write.h"

#include "shadow/path/object_path.h"
#include "shadow/store/table.h"

/* Maximum size of a record, bytes. */
#define ACQUIRE_MOST (3 + 7 * WORD + 3 * NUMBER)
#define RELEASE_MOST (1 + 3 * WORD + NUMBER)
#define MERGE_MOST   (1 + 4 * WORD)

/* Return the number of @row in the table @id; 0: none. */
static uint32_t row_number(enum cpa_table_id id, const void *row)
{
	const struct cpa_table *t = cpa_table(id);
	uint64_t at = row ? cpa_offset(row) : 0;

	for (uint32_t k = 0; row && k < CPA_CHUNKS; k++) {
		/* Relaxed: the row was found through its chunk. */
		uint64_t chunk = __atomic_load_n(&t->chunk[k], __ATOMIC_RELAXED);
		uint64_t rows = (uint64_t)t->first_rows << k;

		if (chunk && at >= chunk && at < chunk + rows * t->row_size)
			return (uint32_t)(rows - t->first_rows + (at - chunk) / t->row_size + 1);
	}
	return 0;
}

static uint32_t object_number(const struct cpa_object *o)
{
	return row_number(CPA_TABLE_OBJECTS, o);
}

/* Return whether @object differs from the predicted one, and make it the prediction. */
static bool is_new(struct cpa_journal *j, uint32_t guess[], uint32_t object)
{
	uint32_t *last = &guess[j->edge % CPA_JOURNAL_GUESS], before = *last;

	*last = object;
	return before != object;
}

void cpa_journal_item(struct cpa_self *self, uint32_t queue, uint64_t item)
{
	self->journal->queue = queue;
	self->journal->item = item;
}

void cpa_journal_stream_write(struct cpa_self *self, const struct cpa_stream *stream,
			      uint64_t bytes)
{
	cpa_journal_item(self, CPA_JOURNAL_STREAM + row_number(CPA_TABLE_STREAMS, stream), bytes);
}

static uint8_t *put_item(uint8_t *at, struct cpa_journal *j, unsigned flag, unsigned *flags)
{
	if (!j->queue)
		return at;
	*flags |= flag;
	at = put(at, j->queue);
	at = put_signed(at, j->item - j->guess.item);
	j->guess.item = j->item;
	j->queue = 0;
	return at;
}

static uint8_t *put_path(uint8_t *at, struct cpa_journal *j, uint64_t event)
{
	uint32_t thread = (uint32_t)(event >> 32), number = (uint32_t)event;
	uint32_t *last = &j->guess.number[thread % CPA_JOURNAL_GUESS];

	at = put(at, thread);
	at = put_signed(at, (uint64_t)(int64_t)(int32_t)(number - *last));
	*last = number;
	return at;
}

/* Return whether @path is of a lock that the thread itself released last: no dependency. */
static bool is_own(const struct cpa_self *self, const struct cpa_object *o,
		   const struct cpa_path *path)
{
	return o && path == cpa_object_path(o) && path->owner == self->id;
}

uint64_t cpa_journal_known(uint64_t event)
{
	if (likely(event != CPA_JOURNAL_PENDING))
		return event;
	refused();
	return 0;
}

/*
 * Return whether the record has to name @path. A path of a thread without a journal cannot be
 * named.
 */
static bool is_cause(const struct cpa_self *self, const struct cpa_object *on,
		     const struct cpa_object *other, const struct cpa_path *path)
{
	if (!path || !path->owner || is_own(self, on, path) || is_own(self, other, path))
		return false;
	/* A thread that was in no part of the run has no record. */
	if (unlikely(!path->released && !path->len))
		return false;
	if (unlikely(!path->event))
		refused();
	return cpa_journal_known(path->event) != 0;
}

/*
 * Return the bits of CPA_ACQUIRE_MORE; 0 if the record needs none. @observed: 1: the observed path
 * is that of the first joined path, 2: of the second.
 */
static unsigned more_of(struct cpa_journal *j, const struct cpa_wait *w, unsigned causes,
			unsigned observed, bool waited)
{
	unsigned more = 0;

	if (causes == 2)
		more |= CPA_ACQUIRE_SECOND;
	if (causes && w->observed_only)
		more |= CPA_ACQUIRE_OBSERVED_ONLY;
	if (observed == 2)
		more |= CPA_ACQUIRE_SECOND_OBSERVED;
	if (!w->matched)
		more |= CPA_ACQUIRE_UNMATCHED;
	if (j->failed)
		more |= CPA_ACQUIRE_FAILED;
	if (waited && w->runqueue)
		more |= CPA_ACQUIRE_READY;
	j->failed = false;
	if (!more && (!causes || waited == (observed == 1)))
		return 0;
	return more | CPA_ACQUIRE_SAID | (observed == 1 ? CPA_ACQUIRE_FIRST_OBSERVED : 0);
}

void cpa_journal_failed(struct cpa_self *self)
{
	self->journal->failed = true;
}

/*
 * If others have a copy of the path of the thread's current event, that event is over: the record of a release makes
 * the acquire an event of its own.
 */
static void close_copied(struct cpa_self *self)
{
	struct cpa_journal *j = self->journal;
	uint32_t queue = j->queue;

	if (j->released)
		return;
	/* SEQ_CST: pairs with close_event() of shadow/edge/part.c. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* Relaxed: the fence orders. */
	if (likely(__atomic_load_n(&self->row->copied, __ATOMIC_RELAXED) != event_name(j)))
		return;
	j->queue = 0; /* the item is the acquire's */
	cpa_journal_release_write(self, NULL, CPA_RELEASE_CELL, 0);
	j->queue = queue;
}

void cpa_journal_acquire_write(struct cpa_self *self, const struct cpa_object *on,
			       const struct cpa_object *other, const struct cpa_path *a,
			       const struct cpa_path *b, unsigned came, const struct cpa_wait *w)
{
	struct cpa_journal *j = self->journal;
	bool has_a = is_cause(self, on, other, a), has_b = is_cause(self, on, other, b);
	bool waited = w->now > j->clock;
	unsigned causes = (unsigned)has_a + has_b, flags = 0, more;
	uint32_t object = object_number(on);
	uint8_t *tag, *at;

	close_copied(self);
	tag = at = room(self, ACQUIRE_MOST);
	if (j->released)
		cpa_journal_next(self);
	if (unlikely(!at)) {
		name_path(j, &self->row->path);
		j->clock = waited ? w->now : j->clock;
		j->failed = false;
		j->queue = 0;
		return;
	}
	/* With two joined paths both may be set; the second one is the later release. */
	came = came & 2 ? 1u + has_a : came & 1 && has_a ? 1u : 0u;
	more = more_of(j, w, causes, came, waited);
	at++;
	if (more) {
		flags |= CPA_ACQUIRE_MORE;
		at = put(at, more);
	}
	if (is_new(j, j->guess.acquired, object)) {
		flags |= CPA_ACQUIRE_OBJECT;
		at = put(at, object);
	}
	j->guess.object = object;
	if (unlikely(other)) {
		flags |= CPA_ACQUIRE_OTHER;
		at = put(at, object_number(other));
	}
	at = put_item(at, j, CPA_ACQUIRE_ITEM, &flags);
	if (causes) {
		flags |= CPA_ACQUIRE_FIRST;
		at = put_path(at, j, has_a ? a->event : b->event);
	}
	if (causes == 2)
		at = put_path(at, j, b->event);
	if (waited) {
		flags |= CPA_ACQUIRE_WAITED;
		at = put(at, w->now - j->clock);
		if (more & CPA_ACQUIRE_READY)
			at = put(at, w->runqueue);
		j->clock = w->now;
	}
	j->released = causes > 0;
	*tag = (uint8_t)(CPA_RECORD_ACQUIRE | flags);
	publish(j, at);
	name_path(j, &self->row->path);
}

void cpa_journal_release_write(struct cpa_self *self, const struct cpa_object *on, unsigned how,
			       uint32_t count)
{
	struct cpa_journal *j = self->journal;
	uint8_t *tag = room(self, RELEASE_MOST), *at = tag;
	uint32_t object = object_number(on);
	unsigned flags = how;

	if (unlikely(!at)) {
		j->released = 1;
		j->queue = 0;
		return;
	}
	at++;
	if (is_new(j, j->guess.released, object)) {
		flags |= CPA_RELEASE_OBJECT;
		at = put(at, object && object == j->guess.object ? 0 : UINT64_C(1) + object);
	}
	at = put_item(at, j, CPA_RELEASE_ITEM, &flags);
	if (count == 1) {
		flags |= CPA_RELEASE_ONE;
	} else if (count) {
		flags |= CPA_RELEASE_COUNT;
		at = put(at, count);
	}
	j->released = 1;
	*tag = (uint8_t)(CPA_RECORD_RELEASE | flags);
	publish(j, at);
}

void cpa_journal_merge_write(struct cpa_self *self, struct cpa_path *path, uint64_t was,
			     uint64_t from)
{
	struct cpa_journal *j = self->journal;
	uint8_t *at = room(self, MERGE_MOST);

	path->event = (uint64_t)j->thread << 32 | ++j->number;
	if (unlikely(!at))
		return;
	*at++ = CPA_RECORD_OTHER | CPA_RECORD_MERGE << 2;
	at = put_path(at, j, was);
	at = put_path(at, j, from);
	publish(j, at);
}
