/* SPDX-License-Identifier: MIT */
/* tests/unit/dump_windows.h - the windows of a budget for a session of dump_maker.h */
#ifndef CPA_TESTS_DUMP_WINDOWS_H
#define CPA_TESTS_DUMP_WINDOWS_H

#include "tests/unit/dump_maker.h"

/* Where a sample has the value of @slot in a vector, and that of a row; its length. */
#define WINDOW_PLACE(vector, slot) (CPA_WINDOW_FIELDS + (vector)*MAKER_SLOTS + (slot))
#define WINDOW_ROW(value, row) \
	(WINDOW_PLACE(CPA_WINDOW_VECTORS, 0) + (value)*CPA_WINDOW_ROWS + (row)-1)
#define WINDOW_LENGTH WINDOW_ROW(CPA_WINDOW_ROW_VALUES, 1)

/* Window @i, from 0, of @windows has @has(@i, @place) ticks of each value. Valid until the next row or block. */
static inline struct cpa_window_series *
dump_maker_windows(struct dump_maker *maker, unsigned windows,
		   uint64_t (*has)(unsigned i, size_t place))
{
	uint64_t at = dump_maker_block(maker, NULL,
				       sizeof(struct cpa_window_series) +
					       (windows + 1) * WINDOW_LENGTH * sizeof(uint64_t));
	struct cpa_window_series *series = (struct cpa_window_series *)(maker->bytes + at);

	dump_maker_header(maker)->windows = at;
	series->windows = series->samples = windows + 1;
	series->slots = MAKER_SLOTS;
	for (unsigned i = 0; i < windows; i++)
		for (size_t place = 0; place < WINDOW_LENGTH; place++) {
			uint64_t *from = series->value + i * WINDOW_LENGTH + place;

			from[WINDOW_LENGTH] = *from + has(i, place);
		}
	return series;
}

#endif
