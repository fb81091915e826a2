/* SPDX-License-Identifier: MIT */
/*
 * tests/fuzz/journal.c - what cpa-report makes of journals that lie
 *
 *	journal COUNT DUMP...    COUNT random changes of sessions with a journal
 *
 * A recipe is a byte that chooses the session, one that chooses what is asked of it, and then steps
 * of 16 bytes, each of which changes the session where a reader of its journal looks: blocks and
 * their headers, the pool, rows that events name. Under libFuzzer the sessions are the files that
 * CPA_FUZZ_SESSIONS names, separated by colons. Whatever the file: no sanitizer complains, nothing
 * but printable characters comes out, JSON parses. CPA_SEED repeats a run.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/exact/context.h"
#include "analysis/predict/predict.h"
#include "analysis/predict/question.h"
#include "analysis/symbols/symbols.h"
#include "analysis/exact/verify.h"
#include "analysis/metrics/phases.h"
#include "analysis/page/html.h"
#include "analysis/export/perfetto.h"
#include "analysis/export/speedscope.h"
#include "shadow/format/layout_journal.h"
#include "tests/fuzz/output.h"
#include "tests/property/random.h"

#define SESSIONS  8u
#define BLOCKS	  64u
#define STEPS_MAX 24u
#define SIZE_MAX_ (UINT64_C(4) << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step_kind {
	STEP_RECORDS, /* a word in the records of a block */
	STEP_INSERT,  /* bytes in between */
	STEP_REMOVE,  /* some of them */
	STEP_COPY,    /* records of another block */
	STEP_HEAD,    /* a word in the header of a block */
	STEP_POOL,    /* a word in the pool, or in its offsets of blocks */
	STEP_ROW,     /* a word in a row of a table */
	STEP_KINDS
};

struct step {
	uint8_t kind, width;
	uint16_t unit; /* which block, or table and row */
	uint32_t offset;
	uint64_t value;
};

static struct session {
	unsigned char *bytes;
	uint64_t size, pool;
	size_t blocks;
	uint64_t block[BLOCKS];
	uint64_t row[CPA_TABLES][256]; /* offsets */
	uint32_t rows[CPA_TABLES];
} session[SESSIONS];
static unsigned sessions;
static unsigned char *changed;
static char file[64];
static int fd = -1;

static uint64_t word_at(const struct session *s, uint64_t offset)
{
	uint64_t word = 0;

	if (offset <= s->size - sizeof(word))
		memcpy(&word, s->bytes + offset, sizeof(word));
	return word;
}

/* Where the journal and the rows are; names are not looked up, that is another test's. */
static void find_places(struct session *s, const char *name)
{
	struct cpa_dump dump;
	uint32_t blocks;
	char *error;

	if (cpa_dump_open(&dump, name, &error) < 0)
		fail("%s", error);
	s->pool = dump.header.journal;
	if (!s->pool)
		fail("%s: no journal", name);
	blocks = (uint32_t)word_at(s, s->pool + offsetof(struct cpa_journal_pool, blocks));
	for (size_t i = 0; i < BLOCKS && i < blocks; i++) {
		uint64_t at =
			word_at(s, s->pool + offsetof(struct cpa_journal_pool, block) + 8 * i);

		if (at && at < s->size - CPA_JOURNAL_BLOCK)
			s->block[s->blocks++] = at;
	}
	if (!s->blocks)
		fail("%s: no block", name);
	for (unsigned id = 0; id < CPA_TABLES; id++)
		for (uint32_t row = 1; row <= dump.rows[id] && s->rows[id] < 256; row++)
			s->row[id][s->rows[id]++] = cpa_dump_place(&dump, id, row);
	for (uint32_t i = 0; i < s->rows[CPA_TABLE_MODULES]; i++)
		memset(s->bytes + s->row[CPA_TABLE_MODULES][i] + offsetof(struct cpa_module, path),
		       0, sizeof(((struct cpa_module *)0)->path));
	cpa_dump_close(&dump);
}

static void load(const char *name)
{
	struct session *s = &session[sessions];
	struct cpa_header header;
	int from = open(name, O_RDONLY | O_CLOEXEC);

	if (sessions == SESSIONS || from < 0 ||
	    pread(from, &header, sizeof(header), 0) != sizeof(header) || header.used > SIZE_MAX_)
		fail("%s: cannot be used", name);
	s->size = header.used;
	s->bytes = malloc(s->size);
	if (!s->bytes || pread(from, s->bytes, s->size, 0) != (ssize_t)s->size)
		fail("%s: cannot be read", name);
	close(from);
	find_places(s, name);
	sessions++;
}

static void start(void)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < sessions; i++)
		most = session[i].size > most ? session[i].size : most;
	changed = malloc(most);
	fd = memfd_create("session", MFD_CLOEXEC);
	if (!changed || fd < 0)
		fail("no memory");
	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	cpa_symbols_here = true;
}

static void put(unsigned char *bytes, size_t size, const struct step *step)
{
	size_t width = (size_t)1 << step->width % 4, at = step->offset % size;

	memcpy(bytes + at, &step->value, at + width <= size ? width : 1);
}

static void change(const struct session *s, const struct step *step)
{
	const size_t head = offsetof(struct cpa_journal_block, records);
	const size_t room = CPA_JOURNAL_BLOCK - head;
	unsigned char *block = changed + s->block[step->unit % s->blocks], *records = block + head;
	uint32_t used = 0;
	unsigned id;
	size_t at, n;

	/* As it was written: where most of what is changed is read. */
	memcpy(&used, s->bytes + (block - changed) + offsetof(struct cpa_journal_block, used), 4);
	used = used && used < room ? used : (uint32_t)room;
	at = step->offset % used;
	n = 1 + step->width % 8;
	switch (step->kind % STEP_KINDS) {
	case STEP_RECORDS:
		put(records, used, step);
		break;
	case STEP_INSERT:
		if (at + n < room)
			memmove(records + at + n, records + at, room - at - n);
		put(records + at, room - at, &(struct step){ .width = 3, .value = step->value });
		break;
	case STEP_REMOVE:
		if (at + n < room)
			memmove(records + at, records + at + n, room - at - n);
		break;
	case STEP_COPY:
		memcpy(records, changed + s->block[step->value % s->blocks] + head, room);
		break;
	case STEP_HEAD:
		put(block, head, step);
		break;
	case STEP_POOL:
		put(changed + s->pool, sizeof(struct cpa_journal_pool) + 8 * s->blocks, step);
		break;
	case STEP_ROW:
		id = step->unit % CPA_TABLES;
		if (s->rows[id])
			put(changed + s->row[id][step->unit / CPA_TABLES % s->rows[id]],
			    ((const struct cpa_header *)s->bytes)->table[id].row_size, step);
		break;
	}
}

static void ask(struct cpa_dump *dump, const struct cpa_profile *profile, unsigned what, FILE *out,
		char **error)
{
	static const char *const changes[] = { "thread:main=0.5", "lock:*=drop", "lock:*=split:3",
					       "function:*=0", "queue:* workers=5" };
	struct cpa_page page = { .out = out, .width = 80 };
	struct cpa_question question = { 0 };
	struct cpa_answer answer;

	cpa_question_add(&question, CPA_ASK_CORES, what & 1 ? "1,2,7" : "3");
	if (what & 2)
		cpa_question_add(&question, CPA_ASK_CURVES, NULL);
	if (what & 4)
		cpa_question_add(&question, CPA_ASK_LOAD, "2");
	if (what & 8)
		cpa_question_add(&question, CPA_ASK_GROUP, "0:main 1-2:*");
	if (what & 16)
		cpa_question_add(&question, CPA_ASK_CHANGE, changes[what / 32 % 5]);
	if (cpa_predict(dump, profile, &question, &answer, error) == CPA_ANSWERED) {
		json_t *json = cpa_answer_json(&answer);
		char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));

		cpa_answer_text(&answer, profile, &page);
		if (!text)
			fail("an answer that is no JSON");
		check_json(text, strlen(text));
		free(text);
		json_decref(json);
		cpa_answer_free(&answer);
	}
	cpa_question_fini(&question);
}

/* The page, whose data are JSON and which no name can end. */
static void view_page(struct cpa_dump *dump, struct cpa_profile *profile)
{
	static const char begin[] = "id=\"data\">", end[] = "</script>";
	const struct cpa_phase_settings settings = { 0 };
	const uint32_t core = 3;
	size_t size = 0;
	char *text = NULL, *data, *behind;
	FILE *out = open_memstream(&text, &size);

	profile->metrics = cpa_metrics_build(profile);
	profile->phases = cpa_phases_build(profile, &settings);
	if (cpa_html_write(dump, profile, &core, 1, out) < 0)
		fail("page: not written");
	cpa_phases_free(profile->phases);
	cpa_metrics_free(profile->metrics);
	fclose(out);
	check_text("page", text, size, "\n\t");
	data = strstr(text, begin);
	behind = data ? strstr(data, end) : NULL;
	if (!behind)
		fail("page: no data");
	data += sizeof(begin) - 1;
	*behind = '\0';
	check_json(data, strlen(data));
	free(text);
}

/* Formats of other tools that are made of the journal. */
static void view_exports(struct cpa_dump *dump, const struct cpa_profile *profile)
{
	size_t size = 0;
	char *text = NULL, *error = NULL;
	FILE *out = open_memstream(&text, &size);
	int ret = cpa_speedscope_write(dump, profile, out, &error);

	fclose(out);
	if (ret > 0)
		check_message(error);
	else
		check_json(text, size);
	free(text);
	error = NULL;
	out = open_memstream(&text, &size);
	if (cpa_perfetto_write(dump, profile, out, &error) > 0)
		check_message(error);
	fclose(out);
	free(text);
}

static void look(struct cpa_dump *dump, unsigned what)
{
	struct cpa_profile *profile;
	struct cpa_page page = { .width = 80 };
	size_t size = 0;
	char *text = NULL, *error = NULL;

	page.out = open_memstream(&text, &size);
	if (what % 8 == 0) {
		cpa_verify(dump, page.out, &error);
	} else {
		profile = cpa_profile_build(dump, CPA_GRAPH_ALL);
		if (what % 16 == 4)
			view_page(dump, profile);
		else if (what % 16 == 12)
			view_exports(dump, profile);
		else if (what % 4 == 1)
			cpa_context_paths(dump, profile, &page, 10, what & 64, &error);
		else if (what % 4 == 2)
			cpa_context_zero(dump, profile, "thread:main", &page, 10, what & 64,
					 &error);
		else
			ask(dump, profile, what / 4, page.out, &error);
		cpa_profile_free(profile);
	}
	fclose(page.out);
	check_text("text", text, size, "\n");
	free(text);
	if (error)
		check_message(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct session *s;
	struct cpa_dump dump;
	char *error;

	if (!sessions || size < 2 || size > 2 + STEPS_MAX * sizeof(struct step))
		return 0;
	s = &session[data[0] % sessions];
	memcpy(changed, s->bytes, s->size);
	for (size_t at = 2; at + sizeof(struct step) <= size; at += sizeof(struct step)) {
		struct step step;

		memcpy(&step, data + at, sizeof(step));
		change(s, &step);
	}
	if (ftruncate(fd, (off_t)s->size) || pwrite(fd, changed, s->size, 0) != (ssize_t)s->size)
		fail("cannot write");
	if (cpa_dump_open(&dump, file, &error) < 0) {
		check_message(error);
		return 0;
	}
	look(&dump, data[1]);
	cpa_dump_close(&dump);
	return 0;
}

#ifdef FUZZER

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char *names = strdup(getenv("CPA_FUZZ_SESSIONS") ? getenv("CPA_FUZZ_SESSIONS") : "");
	char *rest = names, *name;

	(void)argc, (void)argv;
	while ((name = strsep(&rest, ":")))
		load(name);
	free(names);
	start();
	return 0;
}

#else

int main(int argc, char **argv)
{
	uint8_t data[2 + STEPS_MAX * sizeof(struct step)];
	uint64_t seed = rnd_seed(), count;

	if (argc < 3)
		return 2;
	count = strtoull(argv[1], NULL, 10);
	for (int i = 2; i < argc; i++)
		load(argv[i]);
	start();
	for (unsigned i = 0; i < sessions; i++)
		for (unsigned what = 0; what < 16; what++) {
			uint8_t sound[2] = { (uint8_t)i, (uint8_t)what };

			LLVMFuzzerTestOneInput(sound, sizeof(sound));
		}
	for (uint64_t n = 0; n < count; n++) {
		struct rnd r = rnd_sequence(seed, n);
		size_t size = 2 + sizeof(struct step) * (1 + rnd_below(&r, 6));

		for (size_t i = 0; i < size; i++)
			data[i] = (uint8_t)rnd_next(&r);
		printf("# CPA_SEED=%llu, %llu\n", (unsigned long long)seed, (unsigned long long)n);
		fflush(stdout);
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("ok 1 - %llu journals that lie\n1..1\n", (unsigned long long)count);
	return 0;
}

#endif
