/* SPDX-License-Identifier: MIT */
#include "analysis/ctl/window_sums.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/store/epoch.h"

/* Make the series of the session. Return its offset; 0: no space. */
static uint64_t make_series(struct cpa_control *control)
{
	uint32_t slots = control->header->slots;
	uint64_t at = cpa_control_space(
		control, sizeof(struct cpa_window_series) +
				 CPA_WINDOW_SAMPLES * cpa_window_length(slots) * sizeof(uint64_t));
	struct cpa_window_series *series;

	if (!at)
		return 0;
	series = (struct cpa_window_series *)((char *)control->header + at);
	series->slots = slots;
	/* RELEASE: the series is empty, and has its slots. */
	__atomic_store_n(&control->header->windows, at, __ATOMIC_RELEASE);
	return at;
}

/* Return false if sums cannot be kept. */
static bool open_sums(struct cpa_window_sums *sums, struct cpa_control *control)
{
	uint64_t at = control->header->windows;
	char *error = NULL;

	at = at ? at : make_series(control);
	if (at < CPA_HEADER_SIZE || at % sizeof(uint64_t) || at > control->size ||
	    control->size - at <
		    sizeof(*sums->series) + CPA_WINDOW_SAMPLES *
						    cpa_window_length(control->header->slots) *
						    sizeof(uint64_t))
		return false;
	sums->series = (struct cpa_window_series *)((char *)control->header + at);
	if (sums->series->slots != control->header->slots ||
	    sums->series->samples > CPA_WINDOW_SAMPLES || sums->series->level > 63)
		return false;
	if (cpa_dump_over(&sums->dump, control->file, control->header, control->size, &error) < 0) {
		free(error);
		free(sums->dump.file);
		return false;
	}
	sums->reading = xcalloc(1, sizeof(*sums->reading));
	cpa_reading_init(sums->reading, sums->dump.header.slots);
	return true;
}

/* Add what a thread had to the sums @sample; its paths join those of the others in @all. */
static bool add_thread(const struct cpa_reading *reading, uint32_t row, struct cpa_vector *all,
		       uint64_t *sample)
{
	const struct cpa_thread *thread = &reading->row;
	uint64_t *total = sample + cpa_window_slot(all->slots, CPA_WINDOW_TOTAL, 0);

	if (!reading->sound)
		return false;
	cpa_vector_join(all, &reading->path);
	cpa_vector_join(all, &reading->retired);
	sample[CPA_WINDOW_PROCESS] += thread->process;
	sample[CPA_WINDOW_WAIT] += thread->wait;
	for (uint64_t i = 0; i < reading->totals; i++)
		total[i] += reading->total[i];
	if (row > CPA_WINDOW_ROWS)
		return true;
	sample[cpa_window_row(all->slots, CPA_WINDOW_THREAD_CPU, row)] =
		thread->before + thread->process + thread->wait_cpu + thread->probe;
	sample[cpa_window_row(all->slots, CPA_WINDOW_THREAD_WAIT, row)] = thread->wait;
	return true;
}

/* Read the first part of a row, up to @size bytes. Return false if the row is unused. */
static bool read_part(const struct cpa_dump *dump, enum cpa_table_id table, uint32_t number,
		      void *row, size_t size)
{
	uint64_t key;

	if (!cpa_dump_field(dump, table, number, 0, row, size))
		return false;
	memcpy(&key, row, sizeof(key));
	return key != 0;
}

/* Add to the place of class @number what its objects waited and were used. */
static void add_class(const struct cpa_dump *dump, uint64_t *sample, uint32_t number,
		      uint64_t waited, uint64_t used)
{
	uint32_t slots = dump->header.slots, first;

	if (!cpa_dump_field(dump, CPA_TABLE_COMPONENTS, number,
			    offsetof(struct cpa_component, first), &first, sizeof(first)) ||
	    first < CPA_SLOT_FIRST || first >= slots)
		return;
	sample[cpa_window_slot(slots, CPA_WINDOW_WAITED, first)] += waited;
	sample[cpa_window_slot(slots, CPA_WINDOW_USED, first)] += used;
}

/* Objects, those that are destroyed, and queues. */
static void add_classes(const struct cpa_dump *dump, uint64_t *sample)
{
	struct cpa_component class;
	struct cpa_object object;
	struct cpa_queue queue;

	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_COMPONENTS]; i++)
		if (read_part(dump, CPA_TABLE_COMPONENTS, i, &class, sizeof(class)) &&
		    class.kind == CPA_LOCK)
			add_class(dump, sample, i, class.retired_wait, class.retired_hold);
	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_OBJECTS]; i++)
		if (read_part(dump, CPA_TABLE_OBJECTS, i, &object,
			      offsetof(struct cpa_object, merged)) &&
		    object.kind && object.kind != CPA_HANDLE && object.kind != CPA_ALIAS)
			add_class(dump, sample, object.class, object.wait, object.hold);
	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_QUEUES]; i++)
		if (read_part(dump, CPA_TABLE_QUEUES, i, &queue,
			      offsetof(struct cpa_queue, consumers)))
			add_class(dump, sample, queue.component, queue.waited, queue.dequeued);
}

static void add_streams(const struct cpa_dump *dump, uint64_t *sample)
{
	uint32_t slots = dump->header.slots;
	struct cpa_stream stream;

	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_STREAMS] && i <= CPA_WINDOW_ROWS; i++) {
		if (!read_part(dump, CPA_TABLE_STREAMS, i, &stream,
			       offsetof(struct cpa_stream, stayed)))
			continue;
		sample[cpa_window_row(slots, CPA_WINDOW_STREAM_WAITING, i)] = stream.waiting;
		sample[cpa_window_row(slots, CPA_WINDOW_STREAM_BLOCKING, i)] = stream.blocking;
	}
}

/* Read the present sums. Return false if that failed. */
static bool read_sums(void *from, uint64_t *sample)
{
	struct cpa_window_sums *sums = from;
	const struct cpa_header *header = &sums->dump.header;
	uint32_t slots = header->slots;
	struct cpa_snapshot snapshot;
	struct cpa_vector all;
	char *error = NULL;
	bool sound;

	if (cpa_dump_again(&sums->dump, &error) < 0 || !sums->dump.live ||
	    cpa_epoch_is_on(header->epoch)) {
		free(error);
		return false;
	}
	cpa_vector_init(&all, header->slots);
	cpa_snapshot_begin(&snapshot, &sums->dump);
	do {
		cpa_vector_fini(&all);
		cpa_vector_init(&all, header->slots);
		memset(sample, 0, cpa_window_length(header->slots) * sizeof(*sample));
		sound = true;
		for (uint32_t row = 1; row <= snapshot.rows && !snapshot.failed; row++)
			if (cpa_snapshot_read(&snapshot, row, sums->reading) && !snapshot.failed)
				sound &= add_thread(sums->reading, row, &all, sample);
	} while (cpa_snapshot_again(&snapshot));
	sample[CPA_WINDOW_LEN] = all.len;
	sample[CPA_WINDOW_GAPS] = sums->series->gaps;
	sample[CPA_WINDOW_ON] = cpa_epoch_on(header, cpa_epoch_begun(header, header->epoch));
	memcpy(sample + cpa_window_slot(slots, CPA_WINDOW_SHARE, 0), all.share,
	       slots * sizeof(*sample));
	memcpy(sample + cpa_window_slot(slots, CPA_WINDOW_SLACK, 0), all.slack,
	       slots * sizeof(*sample));
	add_classes(&sums->dump, sample);
	add_streams(&sums->dump, sample);
	sound = sound && !snapshot.raw && cpa_dump_whole(&sums->dump);
	cpa_snapshot_end(&snapshot);
	cpa_vector_fini(&all);
	return sound;
}

/* Drop every second sample. */
static void fold(struct cpa_window_series *series)
{
	size_t length = cpa_window_length(series->slots);

	for (size_t i = 1; i < CPA_WINDOW_SAMPLES / 2; i++)
		memcpy(series->value + i * length, series->value + 2 * i * length,
		       length * sizeof(*series->value));
	series->samples = CPA_WINDOW_SAMPLES / 2;
	series->level++;
}

void cpa_window_sums_count(struct cpa_window_series *series, uint64_t gap,
			   bool (*read)(void *from, uint64_t *sample), void *from)
{
	bool counts = true;

	__atomic_store_n(&series->writing, series->writing | 1, __ATOMIC_RELAXED);
	/* RELEASE: a reader that sees any of the stores below sees that they are being made. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (series->samples == CPA_WINDOW_SAMPLES)
		fold(series);
	if (series->windows == (uint64_t)series->samples << series->level) {
		counts = read(from,
			      series->value + series->samples * cpa_window_length(series->slots));
		series->samples += counts;
	}
	series->windows += counts;
	series->gaps += gap;
	/* RELEASE: the series is whole. */
	__atomic_store_n(&series->writing, (series->writing | 1) + 1, __ATOMIC_RELEASE);
}

void cpa_window_sums_take(struct cpa_window_sums *sums, struct cpa_control *control, uint64_t gap)
{
	if (!sums->failed && !sums->reading)
		sums->failed = !open_sums(sums, control);
	if (!sums->failed)
		cpa_window_sums_count(sums->series, gap, read_sums, sums);
}

void cpa_window_sums_close(struct cpa_window_sums *sums)
{
	if (sums->reading) {
		cpa_reading_fini(sums->reading);
		free(sums->reading);
		free(sums->dump.file);
	}
	*sums = (struct cpa_window_sums){ .failed = true };
}
