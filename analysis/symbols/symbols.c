/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/symbols.c - find names of addresses in modules' files
 *
 * The cache (analysis/symbols/cache.c) is asked first. Then readers (analysis/symbols/reader.c)
 * read the files: several in parallel for names known to be needed, then one for single questions,
 * which lives until a module changes. A reader that dies over a question leaves one module without
 * names.
 */
#include "analysis/symbols/symbols.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/symbols/cache.h"
#include "analysis/symbols/prefetch.h"
#include "analysis/symbols/reader.h"

bool cpa_symbols_here;

struct cpa_symbols {
	struct cpa_resolver *resolver; /* used by the readers; here for answers that need no file */
	struct cpa_reader reader;
	int folder;		  /* of the cache; -1: none */
	bool servers;		  /* there are servers of debug files: DEBUGINFOD_URLS */
	uint32_t count;		  /* number of modules */
	struct cpa_cache **cache; /* [row - 1]; NULL until the first question */
	uint32_t *first;	  /* [row - 1]: first row with the same file */
	bool *answered;		  /* [row - 1]: a reader has answered a question */
};

/*
 * Find rows with the same file: parts of one module, or one mapped at several addresses. Questions
 * go to the first row, so that the file is read once.
 */
static void find_same_files(struct cpa_symbols *symbols)
{
	uint32_t *hash = xcalloc(symbols->count + 1, sizeof(*hash));

	symbols->first = xcalloc(symbols->count + 1, sizeof(*symbols->first));
	for (uint32_t i = 0; i < symbols->count; i++) {
		const struct cpa_module *row = cpa_resolver_row(symbols->resolver, i + 1);
		uint32_t j = 0;

		hash[i] = row ? xcrc32((const unsigned char *)row->path, sizeof(row->path), 1) : 0;
		for (; j < i; j++) {
			const struct cpa_module *other =
				hash[i] == hash[j] ? cpa_resolver_row(symbols->resolver, j + 1) :
						     NULL;

			if (row && other && !memcmp(row->path, other->path, sizeof(row->path)) &&
			    row->build_id_size == other->build_id_size &&
			    !memcmp(row->build_id, other->build_id, sizeof(row->build_id)))
				break;
		}
		symbols->first[i] = j + 1;
	}
	free(hash);
}

/* @q as a question about the first row of its file. */
static struct cpa_symbols_question of_first(const struct cpa_symbols *symbols,
					    const struct cpa_symbols_question *q)
{
	const struct cpa_module *row = cpa_resolver_row(symbols->resolver, q->module);
	struct cpa_symbols_question first = *q;

	if (row) {
		first.module = symbols->first[q->module - 1];
		first.address +=
			cpa_resolver_row(symbols->resolver, first.module)->bias - row->bias;
	}
	return first;
}

struct cpa_symbols *cpa_symbols_open(const struct cpa_module *modules, uint32_t count)
{
	return cpa_symbols_update(NULL, modules, count);
}

/* Entries that may be damaged are not written. */
static void close_caches(struct cpa_symbols *symbols)
{
	for (uint32_t i = 0; i < symbols->count; i++)
		cpa_cache_close(symbols->cache[i], !cpa_resolver_trouble(symbols->resolver, i + 1));
	free(symbols->cache);
	free(symbols->first);
	free(symbols->answered);
	symbols->cache = NULL;
	symbols->first = NULL;
	symbols->answered = NULL;
	symbols->count = 0;
}

struct cpa_symbols *cpa_symbols_update(struct cpa_symbols *symbols,
				       const struct cpa_module *modules, uint32_t count)
{
	if (!symbols) {
		symbols = xcalloc(1, sizeof(*symbols));
		symbols->resolver = cpa_resolver_open();
		symbols->folder = cpa_cache_folder();
		symbols->servers = cpa_resolver_asks_servers();
	}
	if (!cpa_resolver_differs(symbols->resolver, modules, count))
		return symbols;
	cpa_reader_end(&symbols->reader);
	close_caches(symbols);
	cpa_resolver_update(symbols->resolver, modules, count);
	symbols->count = count;
	symbols->cache = xcalloc(count + 1, sizeof(struct cpa_cache *));
	symbols->answered = xcalloc(count + 1, sizeof(*symbols->answered));
	find_same_files(symbols);
	return symbols;
}

void cpa_symbols_close(struct cpa_symbols *symbols)
{
	if (!symbols)
		return;
	cpa_reader_end(&symbols->reader);
	close_caches(symbols);
	cpa_resolver_close(symbols->resolver);
	if (symbols->folder >= 0)
		close(symbols->folder);
	free(symbols);
}

static struct cpa_cache *cache_of(struct cpa_symbols *symbols, uint32_t module,
				  const struct cpa_module *row)
{
	struct cpa_cache **cache = &symbols->cache[module - 1];

	if (!*cache)
		*cache = cpa_cache_open(symbols->folder, row);
	return *cache;
}

static struct cpa_cache_key key_of(const struct cpa_symbols_question *q,
				   const struct cpa_module *row)
{
	return (struct cpa_cache_key){
		.address = q->address - row->bias,
		.kind = q->variable ? (q->flag ? CPA_CACHE_WHOLE : CPA_CACHE_VARIABLE) :
			q->inlined  ? CPA_CACHE_INLINED :
				      (q->flag ? CPA_CACHE_RETURN : CPA_CACHE_CODE),
	};
}

/* The cache's entry for @q, about a module with a file; NULL: none. */
static const struct cpa_cache_entry *find_known(struct cpa_symbols *symbols,
						const struct cpa_symbols_question *q)
{
	const struct cpa_module *row = cpa_resolver_row(symbols->resolver, q->module);
	const struct cpa_cache_key key = key_of(q, row);

	const struct cpa_cache_entry *entry =
		cpa_cache_find(cache_of(symbols, q->module, row), &key);

	/* An earlier report may not have asked the servers of debug files. */
	return entry && !entry->name && symbols->servers && !symbols->answered[q->module - 1] ?
		       NULL :
		       entry;
}

/* Store the answer to @q in the cache, and free it. */
static void take_answer(void *context, const struct cpa_symbols_question *q,
			struct cpa_symbols_answer *answer)
{
	struct cpa_symbols *symbols = context;
	const struct cpa_module *row = cpa_resolver_row(symbols->resolver, q->module);
	const struct cpa_cache_key key = key_of(q, row);

	symbols->answered[q->module - 1] = true;
	if (answer->why)
		cpa_resolver_give_up(symbols->resolver, q->module, answer->why);
	else
		cpa_cache_add(cache_of(symbols, q->module, row), &key,
			      &(struct cpa_cache_entry){ answer->place.name, answer->place.location,
							 answer->place.inlined },
			      answer->debug);
	cpa_symbols_answer_fini(answer);
}

/* Have a process answer @q, and store the answer. Return false if no process can be started. */
static bool ask_reader(struct cpa_symbols *symbols, const struct cpa_symbols_question *q)
{
	struct cpa_symbols_answer answer;

	if (!symbols->reader.pid && !cpa_reader_begin(&symbols->reader, symbols->resolver, 1))
		return false;
	if (cpa_reader_put(&symbols->reader, q) && cpa_reader_get(&symbols->reader, &answer))
		take_answer(symbols, q, &answer);
	else
		cpa_reader_blame(symbols->resolver, q->module, cpa_reader_end(&symbols->reader));
	return true;
}

static char *copy(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

static struct cpa_place ask(struct cpa_symbols *symbols,
			    const struct cpa_symbols_question *question)
{
	const struct cpa_symbols_question first = of_first(symbols, question), *q = &first;
	bool here = cpa_symbols_here || !cpa_resolver_has_file(symbols->resolver, q->module);
	const struct cpa_cache_entry *known = here ? NULL : find_known(symbols, q);
	struct cpa_place place = { 0 };

	if (!here && !known) {
		here = !ask_reader(symbols, q);
		known = find_known(symbols, q);
	}
	if (here) {
		struct cpa_symbols_answer answer = cpa_reader_resolve(symbols->resolver, q);

		place = answer.place;
		answer.place = (struct cpa_place){ 0 };
		cpa_symbols_answer_fini(&answer);
	} else if (known) {
		place.name = copy(known->name);
		place.location = copy(known->location);
		place.inlined = copy(known->inlined);
	}
	cpa_resolver_complete(symbols->resolver, q->module, q->address, &place);
	return place;
}

void cpa_symbols_prepare(struct cpa_symbols *symbols, struct cpa_symbols_question *questions,
			 size_t count)
{
	size_t left = 0;

	if (cpa_symbols_here)
		return;
	for (size_t i = 0; i < count; i++) {
		const struct cpa_symbols_question q = of_first(symbols, &questions[i]);

		if (cpa_resolver_has_file(symbols->resolver, q.module) && !find_known(symbols, &q))
			questions[left++] = q;
	}
	cpa_prefetch(symbols->resolver, questions, left, take_answer, symbols);
}

struct cpa_place cpa_symbols_code(struct cpa_symbols *symbols, uint32_t module, uint64_t address,
				  bool returned)
{
	return ask(symbols, &(struct cpa_symbols_question){
				    .module = module, .address = address, .flag = returned });
}

struct cpa_place cpa_symbols_inlined(struct cpa_symbols *symbols, uint32_t module, uint64_t address)
{
	return ask(symbols, &(struct cpa_symbols_question){
				    .module = module, .address = address, .inlined = true });
}

struct cpa_place cpa_symbols_variable(struct cpa_symbols *symbols, uint32_t module,
				      uint64_t address, bool whole)
{
	return ask(symbols,
		   &(struct cpa_symbols_question){
			   .module = module, .address = address, .variable = true, .flag = whole });
}

const char *cpa_symbols_trouble(const struct cpa_symbols *symbols, uint32_t module)
{
	return cpa_resolver_trouble(symbols->resolver, module);
}
