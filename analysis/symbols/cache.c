/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/cache.c - names that were found before, kept in files by build-id
 *
 *	cpa names 6 VERSION
 *	file SIZE SECONDS.NANOSECONDS PATH	the module, the debug file that its build-id
 *	file - PATH				names (this one does not exist), and another one
 *	code|return|variable|whole ADDRESS <tab> NAME <tab> LOCATION	either may be empty
 *	inlined ADDRESS <tab> NAME <tab> LOCATION [<tab> NAME <tab> LOCATION <tab> CALL]...
 *	end CHECKSUM
 */
#include "analysis/symbols/cache.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <libiberty/hashtab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/symbols/cache_folder.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define LAST	     "end " /* followed by eight digits */
#define LAST_SIZE    (sizeof(LAST) - 1 + 8 + 1)
#define DEBUG_FOLDER "/usr/lib/debug/.build-id"

struct record {
	struct cpa_cache_key key;
	struct cpa_cache_entry entry;
};

struct cpa_cache {
	int folder;    /* -1: in memory only */
	char *name;    /* file name in the folder */
	char *sources; /* lines that must match, without the line of a debug file found elsewhere */
	char *debug;   /* the debug file, or NULL */
	htab_t records;
	bool added;
};

static const char *const kinds[] = {
	[CPA_CACHE_CODE] = "code",	 [CPA_CACHE_RETURN] = "return",
	[CPA_CACHE_INLINED] = "inlined", [CPA_CACHE_VARIABLE] = "variable",
	[CPA_CACHE_WHOLE] = "whole",
};

static hashval_t hash_record(const void *entry)
{
	const struct cpa_cache_key *key = &((const struct record *)entry)->key;

	return iterative_hash_object(key->address, (hashval_t)key->kind);
}

static int same_record(const void *a, const void *b)
{
	const struct cpa_cache_key *x = &((const struct record *)a)->key;
	const struct cpa_cache_key *y = &((const struct record *)b)->key;

	return x->address == y->address && x->kind == y->kind;
}

static void free_record(void *entry)
{
	struct record *record = entry;

	free((char *)record->entry.name);
	free((char *)record->entry.location);
	free((char *)record->entry.inlined);
	free(record);
}

static htab_t make_records(void)
{
	return htab_create(64, hash_record, same_record, free_record);
}

/* A printable copy of @text that keeps its tabs; NULL is allowed. */
static char *copy_fields(const char *text)
{
	char *copy = NULL;

	while (text) {
		size_t length = strcspn(text, "\t");
		char *field = cpa_printable(text, length);
		char *longer = cpa_format_text("%s%s%s", copy ? copy : "", copy ? "\t" : "", field);

		free(field);
		free(copy);
		copy = longer;
		text = text[length] ? text + length + 1 : NULL;
	}
	return copy;
}

static void add_record(htab_t records, const struct cpa_cache_key *key,
		       const struct cpa_cache_entry *entry)
{
	struct record *record = xcalloc(1, sizeof(*record));
	void **slot;

	record->key = *key;
	record->entry.name = entry->name ? cpa_printable(entry->name, SIZE_MAX) : NULL;
	record->entry.location = entry->location ? cpa_printable(entry->location, SIZE_MAX) : NULL;
	record->entry.inlined = copy_fields(entry->inlined);
	slot = htab_find_slot(records, record, INSERT);
	if (*slot)
		free_record(*slot);
	*slot = record;
}

/* The line "file ...", which identifies the contents of @path. The caller frees it. */
static char *describe_file(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return cpa_format_text("file - %s\n", path);
	return cpa_format_text("file %jd %jd.%09ld %s\n", (intmax_t)st.st_size,
			       (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, path);
}

/* The build-id in hex. The caller frees it. */
static char *spell_id(const struct cpa_module *module)
{
	char *text = xcalloc(2 * module->build_id_size + 1, 1);

	for (uint32_t i = 0; i < module->build_id_size; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", module->build_id[i]);
	return text;
}

static bool can_be_kept(const struct cpa_module *module)
{
	bool ends = memchr(module->path, '\0', sizeof(module->path)) != NULL;

	if (module->build_id_size > sizeof(module->build_id) || !ends || module->path[0] != '/')
		return false;
	for (const char *c = module->path; *c; c++)
		if (iscntrl((unsigned char)*c))
			return false;
	return true;
}

/*
 * A copy of the module elsewhere has its own file here, so that names written for one path are not
 * used for another. Path, size and time suffice for a module without build-id.
 */
static void name_files(struct cpa_cache *cache, const struct cpa_module *module)
{
	char *id = spell_id(module);
	char *found = cpa_format_text("%s/%.2s/%s.debug", DEBUG_FOLDER, id, *id ? id + 2 : id);
	char *self = describe_file(module->path), *other = describe_file(found);

	cache->name = cpa_format_text("%s-%08x" CPA_CACHE_SUFFIX, *id ? id : "none",
				      xcrc32((const unsigned char *)module->path,
					     (int)strlen(module->path), UINT32_MAX));
	cache->sources = cpa_format_text("cpa names 6 %s\n%s%s", CPA_VERSION, self, other);
	free(other);
	free(self);
	free(found);
	free(id);
}

/*
 * Parse "KIND ADDRESS<tab>NAME<tab>LOCATION", changing @line, and what is behind it. Return false
 * if it is not such a line.
 */
static bool read_record(htab_t records, char *line)
{
	char *kind = strsep(&line, " "), *address = strsep(&line, "\t"), *end;
	char *name = strsep(&line, "\t"), *location = strsep(&line, "\t");
	struct cpa_cache_key key = { 0 };

	if (!location || !isxdigit((unsigned char)address[0]))
		return false;
	key.address = strtoull(address, &end, 16);
	if (*end)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kind, kinds[i]) != 0)
			continue;
		key.kind = (enum cpa_cache_kind)i;
		if (line && key.kind != CPA_CACHE_INLINED)
			return false;
		add_record(records, &key,
			   &(struct cpa_cache_entry){ *name ? name : NULL,
						      *location ? location : NULL, line });
		return true;
	}
	return false;
}

/* Read @text, changing it. Return whether it is complete and the files it names are unchanged. */
static bool read_records(struct cpa_cache *cache, htab_t records, char *text, size_t size)
{
	char last[LAST_SIZE + 1];
	char *line, *debug = NULL;

	if (size < LAST_SIZE || memchr(text, '\0', size))
		return false;
	snprintf(last, sizeof(last), LAST "%08x\n",
		 xcrc32((const unsigned char *)text, (int)(size - LAST_SIZE), UINT32_MAX));
	if (strcmp(text + size - LAST_SIZE, last) != 0 ||
	    strncmp(text, cache->sources, strlen(cache->sources)) != 0)
		return false;
	text[size - LAST_SIZE] = '\0';
	text += strlen(cache->sources);
	if (strncmp(text, "file ", strlen("file ")) == 0) {
		char *now, *path;

		line = strsep(&text, "\n");
		path = strchr(line, '/');
		now = path ? describe_file(path) : xstrdup("");
		debug = strncmp(now, line, strlen(line)) == 0 && now[strlen(line)] == '\n' ?
				xstrdup(path) :
				NULL;
		free(now);
		if (!debug)
			return false;
	}
	free(cache->debug);
	cache->debug = debug;
	while (text && *text) {
		line = strsep(&text, "\n");
		if (!text || !read_record(records, line))
			return false;
	}
	return true;
}

static void read_file(struct cpa_cache *cache)
{
	size_t size;
	char *text = cpa_cache_folder_read(cache->folder, cache->name, &size);
	htab_t records;

	if (!text)
		return;
	records = make_records();
	if (read_records(cache, records, text, size)) {
		htab_delete(cache->records);
		cache->records = records;
	} else {
		htab_delete(records);
		free(cache->debug);
		cache->debug = NULL;
	}
	free(text);
}

struct cpa_cache *cpa_cache_open(int folder, const struct cpa_module *module)
{
	struct cpa_cache *cache = xcalloc(1, sizeof(*cache));

	cache->records = make_records();
	cache->folder = can_be_kept(module) ? folder : -1;
	if (cache->folder < 0)
		return cache;
	name_files(cache, module);
	read_file(cache);
	return cache;
}

const struct cpa_cache_entry *cpa_cache_find(const struct cpa_cache *cache,
					     const struct cpa_cache_key *key)
{
	const struct record wanted = { .key = *key };
	const struct record *found = htab_find(cache->records, &wanted);

	return found ? &found->entry : NULL;
}

void cpa_cache_add(struct cpa_cache *cache, const struct cpa_cache_key *key,
		   const struct cpa_cache_entry *entry, const char *debug)
{
	add_record(cache->records, key, entry);
	cache->added = true;
	if (debug && !cache->debug)
		cache->debug = xstrdup(debug);
}

static int write_record(void **slot, void *context)
{
	const struct record *record = *slot;
	FILE *out = context;

	/* Do not write more than a reader accepts; a part of the names is still useful. */
	if (ftell(out) < (long)(CPA_CACHE_FILE_MAX / 2))
		fprintf(out, "%s %" PRIx64 "\t%s\t%s%s%s\n", kinds[record->key.kind],
			record->key.address, record->entry.name ? record->entry.name : "",
			record->entry.location ? record->entry.location : "",
			record->entry.inlined ? "\t" : "",
			record->entry.inlined ? record->entry.inlined : "");
	return 1;
}

static void write_file(struct cpa_cache *cache)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fputs(cache->sources, out);
	if (cache->debug && !strchr(cache->debug, '\n') && !strstr(cache->sources, cache->debug)) {
		char *line = describe_file(cache->debug);

		fputs(line, out);
		free(line);
	}
	htab_traverse_noresize(cache->records, write_record, out);
	fflush(out);
	fprintf(out, LAST "%08x\n", xcrc32((const unsigned char *)text, (int)size, UINT32_MAX));
	if (fclose(out) == 0 && size <= CPA_CACHE_FILE_MAX)
		cpa_cache_folder_write(cache->folder, cache->name, text, size);
	free(text);
}

void cpa_cache_close(struct cpa_cache *cache, bool keep)
{
	if (!cache)
		return;
	if (keep && cache->added && cache->folder >= 0)
		write_file(cache);
	htab_delete(cache->records);
	free(cache->name);
	free(cache->sources);
	free(cache->debug);
	free(cache);
}
