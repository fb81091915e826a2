/* SPDX-License-Identifier: MIT */
#include "analysis/ctl/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/input/mapping.h"
#include "shadow/arch/arch.h"
#include "shadow/store/epoch.h"
#include "shadow/store/timespec.h"

#define PAGE 4096u

static int fail(char **error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(char **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vasprintf(error, format, args) < 0)
		*error = NULL;
	va_end(args);
	return -1;
}

/* Why the file cannot be controlled; NULL: it is a session file of ours. */
static const char *trouble(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "not a regular file";
	if (st->st_uid != geteuid() && geteuid() != 0)
		return "a file of another user";
	return (uint64_t)st->st_size < sizeof(struct cpa_header) ? "not a session file" : NULL;
}

static const char *header_trouble(const struct cpa_header *h)
{
	if (memcmp(h->magic, CPA_MAGIC, sizeof(h->magic)) != 0 || h->byte_order != CPA_BYTE_ORDER)
		return "not a session file";
	if (h->format != CPA_FORMAT || h->header_size != CPA_HEADER_SIZE)
		return "written by another release of cpa (use the cpa of that release)";
	if (!h->epoch || !h->start_ticks)
		return "not yet initialized, or written by another release of cpa";
	return NULL;
}

int cpa_control_open(struct cpa_control *control, const char *file, char **error)
{
	/* O_NONBLOCK: the name may be that of a FIFO. */
	int fd = open(file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const char *why = NULL;
	struct stat st = { 0 };
	void *base;

	*control = (struct cpa_control){ .file = file, .fd = fd };
	if (fd < 0)
		why = errno == ELOOP ? "a symbolic link (name the file itself)" : strerror(errno);
	else
		why = fstat(fd, &st) < 0 ? strerror(errno) : trouble(&st);
	base = why ? NULL : cpa_mapping_open(fd, (uint64_t)st.st_size, true);
	if (!why)
		why = base ? header_trouble(base) : strerror(errno);
	if (why) {
		if (base)
			munmap(base, (size_t)st.st_size);
		if (fd >= 0)
			close(fd);
		return fail(error, "%s: cannot be controlled: %s", file, why);
	}
	control->header = base;
	control->size = (uint64_t)st.st_size;
	return 0;
}

void cpa_control_close(struct cpa_control *control)
{
	munmap(control->header, control->size);
	close(control->fd);
}

int cpa_control_dead(const struct cpa_control *control, char **error)
{
	return fail(error, "%s: its process %u has ended (see the profile with cpa-report)",
		    control->file, control->header->pid);
}

/* The process may have ended by now. */
static bool has_ended(const struct cpa_control *control)
{
	/* Relaxed: a hint only. */
	return __atomic_load_n(&control->header->state, __ATOMIC_RELAXED) != CPA_RUNNING;
}

/* Report an error if the file was truncated: the change may then have no effect. */
static int check_whole(const struct cpa_control *control, char **error)
{
	return cpa_mapping_whole(control->header) ?
		       0 :
		       fail(error, "%s: the file was truncated in the meantime", control->file);
}

/* The clock of the session: preload/clock/source.h. */
static uint64_t now(const struct cpa_header *header)
{
	const struct cpa_machine *m = &header->machine;
	uint64_t ns;

	/* ACQUIRE: pairs with the RELEASE in preload/clock/source.c, change(). */
	if (__atomic_load_n(&m->source, __ATOMIC_ACQUIRE) < CPA_SOURCE_KERNEL)
		return cpa_arch_counter();
	ns = cpa_timespec_now_ns(CLOCK_MONOTONIC) - m->source_ns;
	return m->source_ticks + (uint64_t)((unsigned __int128)ns * m->source_rate >> 20);
}

int cpa_control_switch(struct cpa_control *control, bool on, char **error)
{
	uint64_t at;

	if (has_ended(control))
		return cpa_control_dead(control, error);
	at = cpa_epoch_change(control->header, on, now(control->header));
	if (check_whole(control, error) < 0)
		return -1;
	if (!at)
		return fail(error, "%s: profiling is %s already", control->file, on ? "on" : "off");
	return 0;
}

int cpa_control_touch(struct cpa_control *control, char **error)
{
	uint64_t at;

	if (has_ended(control))
		return cpa_control_dead(control, error);
	at = now(control->header);
	cpa_epoch_change(control->header, true, at);
	cpa_epoch_change(control->header, false, at);
	return check_whole(control, error);
}

/* Row @row of table @id, of @size bytes; NULL: not in the file. */
static void *row_at(struct cpa_control *control, enum cpa_table_id id, uint64_t size, uint32_t row)
{
	const struct cpa_table *t = &control->header->table[id];
	uint64_t left = row - 1, rows = t->first_rows, chunk;
	uint32_t k = 0;

	for (; rows && left >= rows; rows <<= 1, k++)
		left -= rows;
	/* ACQUIRE: the chunk is usable. Pairs with shadow/store/table.c. */
	chunk = k < CPA_CHUNKS ? __atomic_load_n(&t->chunk[k], __ATOMIC_ACQUIRE) : 0;
	if (!rows || t->row_size != size || chunk < CPA_HEADER_SIZE || chunk > control->size ||
	    control->size - chunk < (left + 1) * size)
		return NULL;
	return (char *)control->header + chunk + left * size;
}

/*
 * Append a row of @size bytes to table @id; NULL: no room in the space that the process has made.
 */
static void *append(struct cpa_control *control, enum cpa_table_id id, uint64_t size, uint32_t *row)
{
	struct cpa_table *t = &control->header->table[id];
	uint32_t old = __atomic_load_n(&t->used, __ATOMIC_RELAXED);
	void *at;

	do {
		/* ACQUIRE: pairs with shadow/store/table.c, as in row_at(). */
		at = old < __atomic_load_n(&t->usable, __ATOMIC_ACQUIRE) ?
			     row_at(control, id, size, old + 1) :
			     NULL;
		/* Relaxed: the row is published by its key. */
	} while (at && !__atomic_compare_exchange_n(&t->used, &old, old + 1, false,
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*row = old + 1;
	return at;
}

/* Length L of the longest path of all threads, up to each one's last event. */
static uint64_t longest(struct cpa_control *control)
{
	const struct cpa_thread *thread;
	uint64_t len = 0;

	for (uint32_t i = 1; i <= control->header->table[CPA_TABLE_THREADS].used &&
			     (thread = row_at(control, CPA_TABLE_THREADS, sizeof(*thread), i));
	     i++)
		len = thread->path.len > len ? thread->path.len : len;
	return len;
}

void cpa_control_cost(struct cpa_control *control, struct cpa_control_cost *cost)
{
	const struct cpa_header *h = control->header;
	uint64_t ns = h->last_ns - h->start_ns, ticks = h->last_ticks - h->start_ticks;
	const struct cpa_thread *thread;

	/* Relaxed, all: the threads go on meanwhile. */
	*cost = (struct cpa_control_cost){
		.untimed = __atomic_load_n(&h->diag[CPA_DIAG_UNTIMED], __ATOMIC_RELAXED),
		.samples = __atomic_load_n(&h->diag[CPA_DIAG_SAMPLES], __ATOMIC_RELAXED),
		.ticks_per_ns = ns ? (double)ticks / (double)ns : 1,
	};
	for (uint32_t i = 1;
	     i <= __atomic_load_n(&h->table[CPA_TABLE_THREADS].used, __ATOMIC_RELAXED) &&
	     (thread = row_at(control, CPA_TABLE_THREADS, sizeof(*thread), i));
	     i++) {
		cost->process += __atomic_load_n(&thread->process, __ATOMIC_RELAXED);
		cost->probe += __atomic_load_n(&thread->probe, __ATOMIC_RELAXED);
	}
}

int cpa_control_mark(struct cpa_control *control, const char *name, char **error)
{
	struct cpa_mark *mark = NULL;
	uint32_t name_row, row = 0;
	struct cpa_name *text;

	if (has_ended(control))
		return cpa_control_dead(control, error);
	text = append(control, CPA_TABLE_NAMES, sizeof(*text), &name_row);
	if (text)
		mark = append(control, CPA_TABLE_MARKS, sizeof(*mark), &row);
	if (check_whole(control, error) < 0)
		return -1;
	if (!mark || row > CPA_MARKS_MAX)
		return fail(error, "%s: no space for another mark", control->file);
	/*
	 * The name is not put into the index, which only the process writes: it gets a row with an
	 * unlikely key.
	 */
	strncpy(text->text, name, sizeof(text->text) - 1);
	/* RELEASE, here and below: readers take a row with a key as complete. */
	__atomic_store_n(&text->key, UINT64_MAX - name_row, __ATOMIC_RELEASE);
	mark->ticks = now(control->header);
	mark->len = longest(control);
	mark->name = name_row;
	__atomic_store_n(&mark->key, row, __ATOMIC_RELEASE); /* RELEASE: completes the row */
	return check_whole(control, error);
}

/* Allocate file space for all that is handed out up to @until, as shadow/store/session.c does. */
static bool make_usable(struct cpa_control *control, uint64_t until)
{
	uint64_t *reserved = &control->header->reserved,
		 have = __atomic_load_n(reserved, __ATOMIC_RELAXED);

	if (until <= have)
		return true;
	if (fallocate(control->fd, FALLOC_FL_KEEP_SIZE, (off_t)have, (off_t)(until - have)) < 0)
		return false;
	/* Relaxed: the space is zero; this word publishes no data in it. */
	while (have < until && !__atomic_compare_exchange_n(reserved, &have, until, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return true;
}

uint64_t cpa_control_space(struct cpa_control *control, uint64_t size)
{
	struct cpa_header *h = control->header;
	uint64_t old = __atomic_load_n(&h->used, __ATOMIC_RELAXED), at, until;

	do {
		at = (old + CPA_CACHE_LINE - 1) / CPA_CACHE_LINE * CPA_CACHE_LINE;
		until = (at + size + PAGE - 1) / PAGE * PAGE;
		if (at < CPA_HEADER_SIZE || until > __atomic_load_n(&h->limit, __ATOMIC_RELAXED) ||
		    until > control->size || !make_usable(control, until))
			return 0;
		/*
		 * SEQ_CST: as in hand_out() of shadow/store/session.c. The process never unmaps
		 * bytes below `used`, and does not use the bytes from `at` to `at + size`, also
		 * if it lowers header.limit meanwhile.
		 */
	} while (!__atomic_compare_exchange_n(&h->used, &old, at + size, true, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return at;
}

void cpa_control_ended(struct cpa_control *control, int status)
{
	struct cpa_process_row *first =
		row_at(control, CPA_TABLE_PROCESSES, sizeof(struct cpa_process_row), 1);

	/*
	 * Plain stores, except for the count and the state: the process, the only other writer, has
	 * ended.
	 */
	if (!first || !first->key || first->parent || first->waited)
		return;
	first->status = status;
	first->waited = 1;
	if (first->state != CPA_PROCESS_RUNNING && first->state != CPA_PROCESS_EXECED)
		return;
	first->end_ticks = now(control->header);
	/* Relaxed: a counter. */
	__atomic_fetch_sub(&control->header->running, 1, __ATOMIC_RELAXED);
	/* RELEASE: pairs as in preload/process/process.c, where a process records its own end. */
	__atomic_store_n(&first->state, CPA_PROCESS_GONE, __ATOMIC_RELEASE);
}
