/* SPDX-License-Identifier: MIT */
#include "shadow/journal.h"

#include <string.h>

#include "shadow/heap.h"
#include "shadow/table.h"

#define PAGE	4096u
#define CHARGES 64u  /* kept before they are written */
#define RETRY	256u /* events without a block, until one is looked for again */
/* Bytes of a number at most: any, one of 32 bits, a slot or how many there are. */
#define NUMBER 10u
#define WORD   5u
#define SLOT   3u
/* And of a record, without what is held and charged. */
#define EVENT_MOST   (1 + 2 * WORD + 3 * SLOT + 4 * NUMBER + WORD)
#define ACQUIRE_MOST (2 + 3 * WORD + 2 * NUMBER + 4 * WORD)
#define RELEASE_MOST (1 + 3 * WORD + NUMBER)
#define MERGE_MOST   (1 + 4 * WORD)

/* What numbers are likely to be; all 0 at the begin of a block. */
struct guess {
	uint32_t edge[CPA_JOURNAL_GUESS], acquired[CPA_JOURNAL_GUESS], released[CPA_JOURNAL_GUESS];
	uint32_t number[CPA_JOURNAL_GUESS];
	struct {
		uint16_t slots, slot[CPA_JOURNAL_LIST];
	} list[CPA_JOURNAL_GUESS];
	uint32_t object; /* the one acquired last */
	uint64_t gap, item;
};

struct charge {
	uint32_t slot;
	uint64_t ticks;
};

/* What a thread's journal needs. The second part is the state that records are relative to. */
struct cpa_journal {
	struct cpa_journal_block *block; /* NULL: none was free */
	uint8_t *at, *end;
	uint32_t thread, sequence;
	uint32_t wait; /* events until a block is looked for */
	/* Of the activity that has ended. */
	uint64_t process, external, runqueue;
	uint32_t to, taken; /* node and edge */
	uint32_t uses;
	uint32_t holds, hold[CPA_HELD_MAX];
	uint32_t slot_now;
	unsigned charges;
	struct charge charge[CHARGES];
	uint32_t queue; /* of the next record; 0: it is about no item */
	uint64_t item;
	bool failed; /* the wait that the next record ends */

	uint32_t number, event, released;
	uint32_t node, edge, slot;
	uint32_t held_count, held[CPA_HELD_MAX];
	uint64_t clock;
	struct guess guess;
};

static struct cpa_journal_pool *pool(void)
{
	return cpa_at(cpa_header()->journal);
}

bool cpa_journal_init(uint64_t size)
{
	uint64_t blocks = size / CPA_JOURNAL_BLOCK;
	uint64_t at = cpa_session_alloc(sizeof(struct cpa_journal_pool) + blocks * sizeof(uint64_t),
					CPA_CACHE_LINE);
	struct cpa_journal_pool *p;

	if (!at)
		return false;
	p = cpa_at(at);
	p->block_size = CPA_JOURNAL_BLOCK;
	p->blocks = (uint32_t)blocks;
	cpa_header()->journal = at;
	return true;
}

/* The number of a row of the objects table; 0: none. */
static uint32_t object_number(const struct cpa_object *o)
{
	const struct cpa_table *t = cpa_table(CPA_TABLE_OBJECTS);
	uint64_t at = o ? cpa_offset(o) : 0;

	for (uint32_t k = 0; o && k < CPA_CHUNKS; k++) {
		/* Relaxed: the row was found by way of its chunk. */
		uint64_t chunk = __atomic_load_n(&t->chunk[k], __ATOMIC_RELAXED);
		uint64_t rows = (uint64_t)t->first_rows << k;

		if (chunk && at >= chunk && at < chunk + rows * t->row_size)
			return (uint32_t)(rows - t->first_rows + (at - chunk) / t->row_size + 1);
	}
	return 0;
}

static uint8_t *put(uint8_t *at, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*at++ = (uint8_t)(n | 0x80);
	*at++ = (uint8_t)n;
	return at;
}

static uint8_t *put_signed(uint8_t *at, uint64_t n)
{
	return put(at, n << 1 ^ (uint64_t)((int64_t)n >> 63));
}

/* A block to write into, that nobody else does. */
static struct cpa_journal_block *claim(uint64_t *ticket)
{
	struct cpa_journal_pool *p = pool();

	for (unsigned i = 0; i < CPA_JOURNAL_TRIES; i++) {
		struct cpa_journal_block *b;
		uint64_t *place, at;
		uint32_t closed = 0;

		/* Relaxed: a number; the block is taken below. */
		*ticket = __atomic_add_fetch(&p->next, 1, __ATOMIC_RELAXED);
		place = &p->block[(*ticket - 1) % p->blocks];
		/* ACQUIRE pairs with the RELEASE below. */
		at = __atomic_load_n(place, __ATOMIC_ACQUIRE);
		if (!at && *ticket <= p->blocks) {
			at = cpa_session_alloc(CPA_JOURNAL_BLOCK, PAGE);
			if (!at)
				return NULL;
			b = cpa_at(at);
			b->open = 1;
			/* RELEASE: who finds it finds it open. */
			__atomic_store_n(place, at, __ATOMIC_RELEASE);
			return b;
		}
		b = at ? cpa_at(at) : NULL;
		/* ACQUIRE pairs with close_block(): its thread writes no more. */
		if (b && __atomic_compare_exchange_n(&b->open, &closed, 1, false, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED)) {
			/* Relaxed: a statistic. */
			__atomic_fetch_add(&p->overwritten, b->events, __ATOMIC_RELAXED);
			return b;
		}
	}
	return NULL;
}

static void close_block(struct cpa_journal *j)
{
	if (!j->block)
		return;
	j->block->events = j->number - j->block->number;
	/* RELEASE pairs with claim(). */
	__atomic_store_n(&j->block->open, 0, __ATOMIC_RELEASE);
	j->block = NULL;
	j->at = j->end = NULL;
}

/* Let @b begin with the state as it is. */
static void open_block(struct cpa_self *self, struct cpa_journal_block *b, uint64_t ticket)
{
	struct cpa_journal *j = self->journal;

	/* Readers see that it is another one before anything else changes (J2): x86 keeps stores in order. */
	__atomic_store_n(&b->ticket, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	b->used = 0;
	b->thread = j->thread;
	b->row = self->number;
	b->sequence = j->sequence++;
	b->number = j->number;
	b->event = j->event;
	b->released = j->released;
	b->node = j->node;
	b->edge = j->edge;
	b->slot = j->slot;
	b->held_count = j->held_count;
	memcpy(b->held, j->held, sizeof(b->held));
	b->clock = j->clock;
	/* RELEASE: the header is whole. Pairs with the readers of J2. */
	__atomic_store_n(&b->ticket, ticket, __ATOMIC_RELEASE);
	memset(&j->guess, 0, sizeof(j->guess));
	j->block = b;
	j->at = b->records;
	j->end = (uint8_t *)b + CPA_JOURNAL_BLOCK;
}

static __attribute__((noinline)) uint8_t *next_block(struct cpa_self *self)
{
	struct cpa_journal *j = self->journal;
	struct cpa_journal_block *b;
	uint64_t ticket;

	self->slow++;
	close_block(j);
	if (j->wait && --j->wait)
		return NULL;
	b = claim(&ticket);
	if (!b) {
		j->wait = RETRY;
		return NULL;
	}
	open_block(self, b, ticket);
	return j->at;
}

/* Where @size bytes can be written; NULL: nowhere. */
static inline uint8_t *room(struct cpa_self *self, size_t size)
{
	const struct cpa_journal *j = self->journal;

	return likely((size_t)(j->end - j->at) >= size) ? j->at : next_block(self);
}

/* What is written up to @at is whole. */
static inline void publish(struct cpa_journal *j, uint8_t *at)
{
	j->at = at;
	/* RELEASE: a reader that sees the number sees the records (J3). */
	__atomic_store_n(&j->block->used, (uint32_t)(at - j->block->records), __ATOMIC_RELEASE);
}

/* The thread's path is that of its current event. */
static void name_path(const struct cpa_journal *j, struct cpa_path *path)
{
	path->event = (uint64_t)j->thread << 32 | j->event;
}

static void next_event(struct cpa_self *self)
{
	struct cpa_journal *j = self->journal;

	j->event = ++j->number;
	j->released = 0;
	name_path(j, &self->row->path);
	/* Relaxed: a statistic. */
	if (unlikely(!j->block))
		__atomic_fetch_add(&pool()->refused, 1, __ATOMIC_RELAXED);
}

void cpa_journal_begin(struct cpa_self *self)
{
	struct cpa_journal *j;

	if (!cpa_header()->journal)
		return;
	j = cpa_heap_alloc(sizeof(*j));
	if (!j) { /* its paths have no event: readers see that they are not complete */
		self->row->path.event = 0;
		/* Relaxed: a statistic. */
		__atomic_fetch_add(&pool()->refused, 1, __ATOMIC_RELAXED);
		return;
	}
	self->journal = j;
	j->thread = self->id;
	j->clock = self->row->path.released;
	j->slot = self->row->thread_slot;
	j->number = j->event = 1;
	name_path(j, &self->row->path);
	next_block(self);
}

void cpa_journal_end(struct cpa_self *self)
{
	if (!self->journal)
		return;
	close_block(self->journal);
	cpa_heap_free(self->journal);
	self->journal = NULL;
}

void cpa_journal_activity(struct cpa_self *self, const struct cpa_span *span,
			  const struct cpa_edge_cache *edge)
{
	struct cpa_journal *j = self->journal;
	const struct cpa_thread *row = self->row;

	j->process = span->process;
	j->external = span->external;
	j->runqueue = span->runqueue;
	j->to = row->node;
	j->taken = edge ? edge->edge : 0;
	j->slot_now = row->thread_slot;
	j->holds = row->held_count;
	memcpy(j->hold, row->held_slot, row->held_count * sizeof(j->hold[0]));
	j->charges = 0;
	j->uses = 0;
}

/* Whether the charges are of the slots that those of the last activity of the kind were. */
static bool as_before(const struct cpa_journal *j)
{
	unsigned at = j->edge % CPA_JOURNAL_GUESS, i = 0;

	while (i < j->charges && i < CPA_JOURNAL_LIST &&
	       j->guess.list[at].slot[i] == j->charge[i].slot)
		i++;
	return i == j->charges && i == j->guess.list[at].slots;
}

static void remember(struct cpa_journal *j)
{
	unsigned at = j->edge % CPA_JOURNAL_GUESS;

	if (j->charges > CPA_JOURNAL_LIST)
		return;
	j->guess.list[at].slots = (uint16_t)j->charges;
	for (unsigned i = 0; i < j->charges; i++)
		j->guess.list[at].slot[i] = (uint16_t)j->charge[i].slot;
}

/* The charges, which are @whole; @same: their slots need not be said. */
static uint8_t *put_charges(uint8_t *at, struct cpa_journal *j, bool whole, bool same)
{
	at = put(at, same ? 0 : 1 + 2 * j->charges + whole);
	for (unsigned i = 0; i < j->charges; i++) {
		if (!same)
			at = put(at, j->charge[i].slot);
		if (!whole || i + 1 < j->charges)
			at = put(at, j->charge[i].ticks);
	}
	if (!same)
		remember(j);
	return at;
}

/* There are more than fit: write what there is. */
static void flush_charges(struct cpa_self *self)
{
	struct cpa_journal *j = self->journal;
	uint8_t *at = room(self, 1 + SLOT + CHARGES * (SLOT + NUMBER));

	if (at) {
		*at++ = CPA_RECORD_OTHER | CPA_RECORD_CHARGES << 2;
		publish(j, put_charges(at, j, false, false));
	}
	j->charges = 0;
}

void cpa_journal_charge(struct cpa_self *self, uint32_t slot, uint64_t ticks)
{
	struct cpa_journal *j = self->journal;

	if (!slot || !ticks)
		return;
	if (unlikely(j->charges == CHARGES))
		flush_charges(self);
	j->charge[j->charges].slot = slot;
	j->charge[j->charges++].ticks = ticks;
}

void cpa_journal_untimed(struct cpa_self *self, uint32_t uses)
{
	self->journal->uses = uses;
}

static uint8_t *put_edge(uint8_t *at, struct cpa_journal *j, unsigned *flags)
{
	uint32_t *guess = &j->guess.edge[j->edge % CPA_JOURNAL_GUESS];

	if (*guess != j->taken || !j->taken) {
		*flags |= CPA_EVENT_EDGE;
		at = put(at, j->taken);
		if (!j->taken)
			at = put(at, j->to);
		*guess = j->taken;
	}
	j->edge = j->taken;
	j->node = j->to;
	return at;
}

static uint8_t *put_held(uint8_t *at, struct cpa_journal *j, unsigned *flags)
{
	uint32_t n = j->holds < j->held_count ? j->holds : j->held_count;
	bool same = !memcmp(j->hold, j->held, n * sizeof(j->hold[0]));

	if (same && j->holds == j->held_count)
		return at;
	*flags |= CPA_EVENT_HELD;
	if (same && j->holds + 1 == j->held_count) {
		at = put(at, 0);
	} else if (same && j->holds == j->held_count + 1) {
		at = put(at, UINT64_C(2) + j->hold[j->held_count]);
	} else {
		at = put(at, 1);
		at = put(at, j->holds);
		for (unsigned i = 0; i < j->holds; i++)
			at = put(at, j->hold[i]);
	}
	j->held_count = j->holds;
	memcpy(j->held, j->hold, j->holds * sizeof(j->held[0]));
	return at;
}

/* Charges, if there is anything to say of them. */
static uint8_t *put_functions(uint8_t *at, struct cpa_journal *j, unsigned *flags)
{
	uint64_t sum = 0;
	bool whole, same;

	for (unsigned i = 0; i < j->charges; i++)
		sum += j->charge[i].ticks;
	whole = j->charges && sum == j->process;
	same = whole && as_before(j);
	if (j->process ? same && j->charges == 1 : !j->charges)
		return at;
	*flags |= CPA_EVENT_CHARGES;
	return put_charges(at, j, whole, same);
}

void cpa_journal_event_write(struct cpa_self *self, uint64_t now)
{
	struct cpa_journal *j = self->journal;
	size_t most = EVENT_MOST + j->holds * SLOT + (size_t)j->charges * (SLOT + NUMBER);
	uint8_t *tag = room(self, most), *at = tag;
	unsigned flags = 0;
	uint64_t gap;

	if (unlikely(!at)) {
		next_event(self);
		j->clock = now;
		return;
	}
	at = put_edge(at + 1, j, &flags);
	at = put_held(at, j, &flags);
	if (unlikely(j->slot != j->slot_now)) {
		flags |= CPA_EVENT_SLOT;
		at = put(at, j->slot_now);
		j->slot = j->slot_now;
	}
	at = put(at, j->process);
	gap = now - j->clock - j->process - j->external - j->runqueue;
	if (gap != j->guess.gap) {
		flags |= CPA_EVENT_GAP;
		at = put_signed(at, gap - j->guess.gap);
		j->guess.gap = gap;
	}
	j->clock = now;
	if (unlikely(j->external | j->runqueue | j->uses)) {
		flags |= CPA_EVENT_EVENTFUL;
		at = put(at, j->external);
		at = put(at, j->runqueue);
		at = put(at, j->uses);
	}
	at = put_functions(at, j, &flags);
	*tag = (uint8_t)(CPA_RECORD_EVENT | flags);
	next_event(self);
	publish(j, at);
}

/* Whether @object is not the one that goes without saying, which it is from now on. */
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

/* A lock that the thread released last itself: no dependency. */
static bool is_own(const struct cpa_self *self, const struct cpa_object *o,
		   const struct cpa_path *path)
{
	return o && path == &o->path && path->owner == self->id;
}

/* Whether the record is to name @path. One of a thread without a journal cannot be named. */
static bool is_cause(const struct cpa_self *self, const struct cpa_object *on,
		     const struct cpa_object *other, const struct cpa_path *path)
{
	if (!path || !path->owner || is_own(self, on, path) || is_own(self, other, path))
		return false;
	/* Relaxed: a statistic. */
	if (unlikely(!path->event))
		__atomic_fetch_add(&pool()->refused, 1, __ATOMIC_RELAXED);
	return path->event != 0;
}

/* CPA_ACQUIRE_MORE's bits; 0: what goes without saying. @observed: 1: of the first, 2: of the second. */
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
	j->failed = false;
	if (!more && (!causes || waited == (observed == 1)))
		return 0;
	return more | CPA_ACQUIRE_SAID | (observed == 1 ? CPA_ACQUIRE_FIRST_OBSERVED : 0);
}

void cpa_journal_failed(struct cpa_self *self)
{
	self->journal->failed = true;
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
	uint8_t *tag = room(self, ACQUIRE_MOST), *at = tag;

	if (j->released)
		next_event(self);
	name_path(j, &self->row->path);
	if (unlikely(!at)) {
		j->clock = waited ? w->now : j->clock;
		j->failed = false;
		j->queue = 0;
		return;
	}
	/* Of two both may have come, the second one later. */
	came = came & 2 ? 1u + has_a : came & 1 && has_a ? 1u : 0u;
	more = more_of(j, w, causes, came, waited);
	at++;
	if (more) {
		flags |= CPA_ACQUIRE_MORE;
		*at++ = (uint8_t)more;
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
		j->clock = w->now;
	}
	j->released = causes > 0;
	*tag = (uint8_t)(CPA_RECORD_ACQUIRE | flags);
	publish(j, at);
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
