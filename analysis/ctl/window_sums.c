/* SPDX-License-Identifier: MIT */
#include "analysis/ctl/window_sums.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/store/epoch.h"

static size_t length_of(uint32_t slots)
{
	return CPA_WINDOW_FIELDS + CPA_WINDOW_VECTORS * (size_t)slots;
}

/* Make the series of the session. Return its offset; 0: no space. */
static uint64_t make_series(struct cpa_control *control)
{
	uint32_t slots = control->header->slots;
	uint64_t at = cpa_control_space(control, sizeof(struct cpa_window_series) +
							 CPA_WINDOW_SAMPLES * length_of(slots) *
								 sizeof(uint64_t));
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
	    control->size - at < sizeof(*sums->series) + CPA_WINDOW_SAMPLES *
								 length_of(control->header->slots) *
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
static bool add_thread(const struct cpa_reading *reading, struct cpa_vector *all, uint64_t *sample)
{
	uint64_t *total = sample + CPA_WINDOW_FIELDS + CPA_WINDOW_TOTAL * (size_t)all->slots;

	if (!reading->sound)
		return false;
	cpa_vector_join(all, &reading->path);
	cpa_vector_join(all, &reading->retired);
	sample[CPA_WINDOW_PROCESS] += reading->row.process;
	sample[CPA_WINDOW_WAIT] += reading->row.wait;
	for (uint64_t i = 0; i < reading->totals; i++)
		total[i] += reading->total[i];
	return true;
}

/* Read the present sums. Return false if that failed. */
static bool read_sums(void *from, uint64_t *sample)
{
	struct cpa_window_sums *sums = from;
	const struct cpa_header *header = &sums->dump.header;
	size_t slots = header->slots;
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
		memset(sample, 0, length_of(header->slots) * sizeof(*sample));
		sound = true;
		for (uint32_t row = 1; row <= snapshot.rows && !snapshot.failed; row++)
			if (cpa_snapshot_read(&snapshot, row, sums->reading) && !snapshot.failed)
				sound &= add_thread(sums->reading, &all, sample);
	} while (cpa_snapshot_again(&snapshot));
	sound = sound && !snapshot.raw && cpa_dump_whole(&sums->dump);
	sample[CPA_WINDOW_LEN] = all.len;
	sample[CPA_WINDOW_ON] = cpa_epoch_on(header, cpa_epoch_begun(header, header->epoch));
	memcpy(sample + CPA_WINDOW_FIELDS + CPA_WINDOW_SHARE * slots, all.share,
	       slots * sizeof(*sample));
	memcpy(sample + CPA_WINDOW_FIELDS + CPA_WINDOW_SLACK * slots, all.slack,
	       slots * sizeof(*sample));
	cpa_snapshot_end(&snapshot);
	cpa_vector_fini(&all);
	return sound;
}

/* Drop every second sample. */
static void fold(struct cpa_window_series *series)
{
	size_t length = length_of(series->slots);

	for (size_t i = 1; i < CPA_WINDOW_SAMPLES / 2; i++)
		memcpy(series->value + i * length, series->value + 2 * i * length,
		       length * sizeof(*series->value));
	series->samples = CPA_WINDOW_SAMPLES / 2;
	series->level++;
}

void cpa_window_sums_count(struct cpa_window_series *series,
			   bool (*read)(void *from, uint64_t *sample), void *from)
{
	bool counts = true;

	__atomic_store_n(&series->writing, series->writing | 1, __ATOMIC_RELAXED);
	/* RELEASE: a reader that sees any of the stores below sees that they are being made. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (series->samples == CPA_WINDOW_SAMPLES)
		fold(series);
	if (series->windows == (uint64_t)series->samples << series->level) {
		counts = read(from, series->value + series->samples * length_of(series->slots));
		series->samples += counts;
	}
	series->windows += counts;
	/* RELEASE: the series is whole. */
	__atomic_store_n(&series->writing, (series->writing | 1) + 1, __ATOMIC_RELEASE);
}

void cpa_window_sums_take(struct cpa_window_sums *sums, struct cpa_control *control)
{
	if (!sums->failed && !sums->reading)
		sums->failed = !open_sums(sums, control);
	if (!sums->failed)
		cpa_window_sums_count(sums->series, read_sums, sums);
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
