/* SPDX-License-Identifier: MIT */
#include "shadow/edge/message.h"

#include "shadow/edge/cell.h"

#define ANY 0 /* name of a message that was not read yet */

/* In `source` of the token of a connection. */
#define ALONE (UINT64_C(1) << 63)
#define MIXED (UINT64_C(1) << 62)
#define INODE (MIXED - 1)

void cpa_message_write_end(struct cpa_self *self, struct cpa_stream_record *record, uint64_t name,
			   uint64_t bytes)
{
	struct cpa_token *t = record->token;

	/* Relaxed, as all counters here: sums on which no data depends. */
	__atomic_fetch_add(&record->stream->written,
			   (bytes & CPA_STREAM_BYTES) - CPA_STREAM_WRITING, __ATOMIC_RELAXED);
	if (unlikely(!record->cell))
		return;
	if (!name && (cpa_stream_write_failed(self, record) ||
		      cpa_cell_replace(self, record->cell, record->token, 0)))
		return;
	__atomic_store_n(&t->key, name, __ATOMIC_RELAXED);
	/* RELEASE: who sees that it is closed sees the name. Pairs with is_open(). */
	__atomic_store_n(&t->payload, 0, __ATOMIC_RELEASE);
	cpa_cell_unpin(self, record->cell, record->token);
}

static bool is_open(const struct cpa_token *t)
{
	/* ACQUIRE: the name is read next. Pairs with cpa_message_write_end(). */
	return __atomic_load_n(&t->payload, __ATOMIC_ACQUIRE) == CPA_STREAM_OPEN;
}

void cpa_message_connects(struct cpa_stream_record *record, uint64_t name, uint64_t socket,
			  bool alone)
{
	if (!record->cell)
		return;
	/* Relaxed: the kernel orders the connect and the accept. */
	__atomic_store_n(&record->token->key, name, __ATOMIC_RELAXED);
	__atomic_store_n(&record->token->source, (socket & INODE) | (alone ? ALONE : 0),
			 __ATOMIC_RELAXED);
}

/* A connection has its name before its write has returned. */
static bool is_named(const struct cpa_token *t)
{
	return !is_open(t) || __atomic_load_n(&t->source, __ATOMIC_RELAXED);
}

void cpa_message_accepts(struct cpa_stream *s, uint32_t thread)
{
	/* Relaxed: the thread itself wrote its number; of several each says below that it is there. */
	uint32_t was = __atomic_load_n(&s->accepts, __ATOMIC_RELAXED);

	if (was == thread || was == CPA_STREAM_MANY_ACCEPT)
		return;
	/* SEQ_CST, both: pair with cpa_message_is_known(), in whatever thread. */
	if (was || !thread ||
	    !__atomic_compare_exchange_n(&s->accepts, &was, thread, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		/* SEQ_CST: as above. */
		__atomic_store_n(&s->accepts, CPA_STREAM_MANY_ACCEPT, __ATOMIC_SEQ_CST);
}

/* The token in @place of a connection called @name that was not accepted yet; NULL: it is none. */
static struct cpa_token *waits_at(const struct cpa_stream *s, uint64_t place, uint64_t name)
{
	/* Not pinned: a late reader of a token still reads a token. */
	uint32_t row =
		(uint32_t)__atomic_load_n(&s->record[place % CPA_STREAM_RECORDS], __ATOMIC_RELAXED);
	struct cpa_token *t = row ? cpa_token(row) : NULL;

	return t && is_named(t) && __atomic_load_n(&t->key, __ATOMIC_RELAXED) == name ? t : NULL;
}

bool cpa_message_is_known(const struct cpa_stream *s, uint64_t name)
{
	/* SEQ_CST: pairs with cpa_message_accepts(), which all called before they accepted. */
	bool many = __atomic_load_n(&s->accepts, __ATOMIC_SEQ_CST) == CPA_STREAM_MANY_ACCEPT;
	uint64_t places = __atomic_load_n(&s->records, __ATOMIC_RELAXED);
	unsigned n = 0;

	for (uint64_t i = cpa_stream_first_place(s, places); i < places; i++) {
		const struct cpa_token *t = waits_at(s, i, name);

		if (t && ++n == 2)
			return !many && __atomic_load_n(&t->source, __ATOMIC_RELAXED) & ALONE;
	}
	return true;
}

void cpa_message_mix(struct cpa_stream *s, uint64_t name)
{
	uint64_t places = __atomic_load_n(&s->records, __ATOMIC_RELAXED);

	for (uint64_t i = cpa_stream_first_place(s, places); i < places; i++) {
		struct cpa_token *t = waits_at(s, i, name);

		/* Relaxed: whoever accepts one of them looks for others first. */
		if (t)
			__atomic_fetch_or(&t->source, MIXED, __ATOMIC_RELAXED);
	}
}

uint64_t cpa_message_socket(const struct cpa_stream_found *f)
{
	uint64_t source = __atomic_load_n(&f->from[0].token->source, __ATOMIC_RELAXED);

	return source & MIXED ? 0 : source & INODE;
}

/* A record that may be the one, pinned. */
struct candidate {
	uint64_t *cell;
	struct cpa_token *token; /* NULL: none */
	uint64_t place;
};

/* The later one, @c, is the candidate. The one before is there still; @lost: it never will be read. */
static void prefer(struct cpa_self *self, struct candidate *before, const struct candidate *c,
		   bool lost)
{
	if (before->token && !(lost && cpa_cell_replace(self, before->cell, before->token, 0)))
		cpa_cell_unpin(self, before->cell, before->token);
	*before = *c;
}

/* What is looked for. */
struct wanted {
	uint64_t name, since;
	uint64_t socket; /* of a connection; 0: any */
};

static bool is_wanted(const struct cpa_token *t, const struct wanted *wanted)
{
	return (!wanted->name || __atomic_load_n(&t->key, __ATOMIC_RELAXED) == wanted->name) &&
	       (!wanted->socket ||
		(__atomic_load_n(&t->source, __ATOMIC_RELAXED) & INODE) == wanted->socket);
}

/* Pin the record that is @wanted, or an open one. */
static bool find(struct cpa_self *self, struct cpa_stream *s, const struct wanted *wanted,
		 struct cpa_stream_found *f, bool *uncertain)
{
	/* Relaxed: the kernel's own lock on the socket orders a write and the read of it. */
	uint64_t places = __atomic_load_n(&s->records, __ATOMIC_RELAXED);
	struct candidate named = { 0 }, open = { 0 };
	unsigned opens = 0;

	for (uint64_t i = cpa_stream_first_place(s, places); i < places; i++) {
		struct candidate c = { &s->record[i % CPA_STREAM_RECORDS], NULL, i };
		const struct cpa_token *t = c.token = cpa_cell_pin(c.cell);

		if (!t)
			continue;
		if (!is_named(t)) {
			opens++;
			prefer(self, &open, &c, false);
		} else if (is_wanted(t, wanted)) {
			prefer(self, &named, &c, wanted->name != ANY);
			if (t->path.released >= wanted->since)
				break;
		} else {
			cpa_cell_unpin(self, c.cell, c.token);
		}
	}
	*uncertain = !named.token && opens > 1;
	if (named.token && open.token)
		cpa_cell_unpin(self, open.cell, open.token);
	if (!named.token)
		named = open;
	cpa_stream_found_init(f, s, named.place);
	if (!named.token)
		return false;
	f->count = 1;
	f->from[0].cell = named.cell;
	f->from[0].token = named.token;
	f->released = named.token->path.released;
	return true;
}

/* A read took @bytes, which is @wanted. */
static bool take(struct cpa_self *self, struct cpa_stream *s, const struct wanted *wanted,
		 uint64_t bytes, struct cpa_stream_found *f)
{
	bool uncertain = false;

	cpa_stream_took(s, bytes);
	cpa_stream_reader(self, s);
	if (s->broken || !find(self, s, wanted, f, &uncertain)) {
		__atomic_fetch_add(&s->unmatched, 1, __ATOMIC_RELAXED);
		return false;
	}
	f->bytes = bytes;
	__atomic_fetch_add(&s->reads, 1, __ATOMIC_RELAXED);
	if (unlikely(uncertain))
		__atomic_fetch_add(&s->uncertain, 1, __ATOMIC_RELAXED);
	return true;
}

bool cpa_message_read(struct cpa_self *self, struct cpa_stream *s, uint64_t name, uint64_t bytes,
		      struct cpa_stream_found *f)
{
	return take(self, s, &(struct wanted){ .name = name }, bytes, f);
}

bool cpa_message_accept(struct cpa_self *self, struct cpa_stream *s, uint64_t name, uint64_t socket,
			struct cpa_stream_found *f)
{
	const struct wanted wanted = { .name = name, .socket = socket & INODE };

	if (!take(self, s, &wanted, 0, f))
		return false;
	/* Relaxed: nobody else has found it. */
	if (socket)
		__atomic_fetch_and(&f->from[0].token->source, ~MIXED, __ATOMIC_RELAXED);
	return true;
}

bool cpa_message_next(struct cpa_self *self, struct cpa_stream *s, struct cpa_stream_found *f)
{
	bool uncertain;

	return !s->broken && find(self, s, &(struct wanted){ .name = ANY }, f, &uncertain);
}

void cpa_message_renew(struct cpa_self *self, struct cpa_stream_found *f, bool took, uint64_t since)
{
	const struct cpa_token *t = f->from[0].token;
	struct wanted wanted = { .since = since };
	struct cpa_stream_found later;
	bool uncertain;

	if (f->released >= since || !is_named(t))
		return;
	wanted.name = took ? __atomic_load_n(&t->key, __ATOMIC_RELAXED) : ANY;
	/* It finds what was found again, if there is nothing else. */
	if (!find(self, f->stream, &wanted, &later, &uncertain))
		return;
	cpa_stream_drop(self, f);
	*f = later;
}
