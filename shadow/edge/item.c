/* SPDX-License-Identifier: MIT */
#include "shadow/edge/item.h"

#include "shadow/store/index.h"

struct wanted {
	uint64_t hash, item;
	uint32_t queue;
	uint32_t putter; /* id; 0: any thread */
};

struct found {
	uint64_t *at, word, released;
	unsigned equal; /* number of matching items */
};

static uint64_t hash_of(uint32_t queue, uint64_t item)
{
	return cpa_index_hash(cpa_index_hash(item) + queue);
}

static uint64_t field(const uint64_t *of)
{
	/*
	 * ACQUIRE pairs with set(): a thread that finds another item here sees its putter's stores.
	 */
	return __atomic_load_n(of, __ATOMIC_ACQUIRE);
}

static void set(uint64_t *of, uint64_t value)
{
	/* RELEASE pairs with field(); see take() for the stores that the putter itself has seen. */
	__atomic_store_n(of, value, __ATOMIC_RELEASE);
}

static bool is_wanted(const struct wanted *w, uint32_t row)
{
	const struct cpa_token *t = cpa_token(row);
	uint64_t where = field(&t->payload);

	return field(&t->key) == w->item && (uint32_t)where == w->queue &&
	       (!w->putter || where >> 32 == w->putter);
}

/* Find the wanted item that was released first, or last if @last. */
static struct found find(const struct wanted *w, bool last)
{
	struct found best = { .at = NULL };

	for (unsigned k = 0; k < CPA_INDEX_LEVELS; k++) {
		uint64_t *line = cpa_index_line(cpa_header()->item_index, k, w->hash);

		for (unsigned i = 0; line && i < CPA_INDEX_LINE; i++) {
			/*
			 * ACQUIRE: the token was complete when it was put. Pairs with place() and
			 * take().
			 */
			uint64_t word = __atomic_load_n(&line[i], __ATOMIC_ACQUIRE), released;

			if (!word || (word ^ w->hash) >> 32 || !is_wanted(w, (uint32_t)word))
				continue;
			best.equal++;
			released = field(&cpa_token(word)->left);
			if (best.at && (released < best.released) == last)
				continue;
			best.at = &line[i];
			best.word = word;
			best.released = released;
		}
		if (!line)
			break;
	}
	return best;
}

/*
 * Atomic: number of items placed with this hash. A taker reads the words one by one; meanwhile
 * another thread may place an equal item in a word already read, and take the one in a word not yet
 * read. A taker may therefore report "none" only if nothing was placed during its search.
 */
static uint64_t *placed_of(uint64_t hash)
{
	return &cpa_header()->placed[hash % CPA_PLACED];
}

/* Put token @row into the first free word. Return false if there is no space. */
static bool place(uint64_t hash, uint32_t row)
{
	uint64_t word = (hash >> 32 << 32) | row;

	for (unsigned k = 0; k < CPA_INDEX_LEVELS; k++) {
		uint64_t *line = cpa_index_line_new(cpa_header()->item_index, k, hash);

		for (unsigned i = 0; line && i < CPA_INDEX_LINE; i++) {
			/* Relaxed: a hint. */
			uint64_t empty = __atomic_load_n(&line[i], __ATOMIC_RELAXED);

			/* RELEASE: the token is complete before it can be found. */
			if (empty ||
			    !__atomic_compare_exchange_n(&line[i], &empty, word, false,
							 __ATOMIC_RELEASE, __ATOMIC_RELAXED))
				continue;
			/* RELEASE: a thread that reads the new number finds the item. */
			__atomic_fetch_add(placed_of(hash), 1, __ATOMIC_RELEASE);
			return true;
		}
		if (!line)
			break;
	}
	return false;
}

static void count(uint64_t by)
{
	/* Relaxed: a bound; no data depends on it. */
	__atomic_fetch_add(&cpa_header()->items, by, __ATOMIC_RELAXED);
}

static enum cpa_item_put refuse(struct cpa_self *self, uint32_t token)
{
	if (token)
		cpa_token_free(self, token);
	count(-UINT64_C(1));
	cpa_diag(CPA_DIAG_ITEMS_REFUSED);
	return CPA_ITEM_REFUSED;
}

enum cpa_item_put cpa_item_put(struct cpa_self *self, uint32_t queue, uint64_t item,
			       const struct cpa_path *path)
{
	struct wanted w = { hash_of(queue, item), item, queue, 0 };
	unsigned equal = find(&w, false).equal;
	uint32_t row = 0;

	count(1);
	if (__atomic_load_n(&cpa_header()->items, __ATOMIC_RELAXED) <= CPA_ITEMS_MAX &&
	    equal < CPA_ITEMS_EQUAL)
		row = cpa_token_new(self, path);
	if (!row)
		return refuse(self, 0);
	set(&cpa_token(row)->key, item);
	set(&cpa_token(row)->payload, (uint64_t)self->id << 32 | queue);
	set(&cpa_token(row)->left, path->released);
	if (!place(w.hash, row))
		return refuse(self, row);
	return equal ? CPA_ITEM_TWICE : CPA_ITEM_NEW;
}

/*
 * Put the token back: it was taken, freed and put as another item between find() and the exchange.
 */
static void put_back(struct cpa_self *self, uint32_t row)
{
	const struct cpa_token *t = cpa_token(row);

	if (!place(hash_of((uint32_t)field(&t->payload), field(&t->key)), row))
		refuse(self, row);
}

static uint32_t take(struct cpa_self *self, const struct wanted *w, bool last)
{
	const uint64_t *number = placed_of(w->hash);

	for (;;) {
		/* ACQUIRE pairs with place(). */
		uint64_t before = __atomic_load_n(number, __ATOMIC_ACQUIRE);
		struct found f = find(w, last);
		uint32_t row = (uint32_t)f.word;

		/*
		 * Relaxed: the thread that took an item not found here released its word after the
		 * item was placed.
		 */
		if (!f.at && before == __atomic_load_n(number, __ATOMIC_RELAXED))
			return 0;
		/*
		 * ACQUIRE pairs with place(), also if the word was put again since find(). RELEASE:
		 * a thread that finds the word empty in find() sees all that this thread knows to
		 * be placed.
		 */
		if (!f.at || !__atomic_compare_exchange_n(f.at, &f.word, 0, false, __ATOMIC_ACQ_REL,
							  __ATOMIC_RELAXED))
			continue;
		if (is_wanted(w, row)) {
			count(-UINT64_C(1));
			return row;
		}
		put_back(self, row);
	}
}

uint32_t cpa_item_take(struct cpa_self *self, uint32_t queue, uint64_t item)
{
	struct wanted w = { hash_of(queue, item), item, queue, 0 };

	return take(self, &w, false);
}

uint32_t cpa_item_take_back(struct cpa_self *self, uint32_t queue, uint64_t item)
{
	struct wanted w = { hash_of(queue, item), item, queue, self->id };

	return take(self, &w, true);
}

static void forget_line(struct cpa_self *self, uint64_t *line, uint64_t before,
			void (*each)(uint32_t queue, const struct cpa_path *path))
{
	for (unsigned i = 0; i < CPA_INDEX_LINE; i++) {
		/* ACQUIRE: the token was complete when it was put. Pairs with place(). */
		uint64_t word = __atomic_load_n(&line[i], __ATOMIC_ACQUIRE);
		uint32_t row = (uint32_t)word;

		/* ACQUIRE, RELEASE: see take(). */
		if (!word || field(&cpa_token(row)->left) >= before ||
		    !__atomic_compare_exchange_n(&line[i], &word, 0, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		/* the token was put again meanwhile: see take() */
		if (field(&cpa_token(row)->left) >= before) {
			put_back(self, row);
			continue;
		}
		count(-UINT64_C(1));
		each((uint32_t)field(&cpa_token(row)->payload), &cpa_token(row)->path);
		cpa_token_free(self, row);
	}
}

void cpa_item_forget(struct cpa_self *self, uint64_t before,
		     void (*each)(uint32_t queue, const struct cpa_path *path))
{
	/* Relaxed: a hint; most programs have no items. */
	if (!__atomic_load_n(&cpa_header()->items, __ATOMIC_RELAXED))
		return;
	for (unsigned k = 0; k < CPA_INDEX_LEVELS; k++) {
		for (uint64_t line = 0; line < cpa_index_lines(k); line++) {
			uint64_t *words = cpa_index_line(cpa_header()->item_index, k, line);

			if (!words)
				return;
			forget_line(self, words, before, each);
		}
	}
}
