/* SPDX-License-Identifier: MIT */
#include "shadow/edge/object.h"

#include "shadow/edge/cell.h"
#include "shadow/edge/fifo.h"
#include "shadow/edge/merge.h"
#include "shadow/path/path.h"

const struct cpa_path cpa_path_of_none;

struct cpa_path *cpa_object_path_new(struct cpa_self *self, struct cpa_object *o)
{
	uint32_t row = cpa_table_append(CPA_TABLE_PATHS);
	struct cpa_path *path = row ? cpa_row(CPA_TABLE_PATHS, row) : NULL;

	self->slow++;
	if (!path)
		cpa_diag(CPA_DIAG_OBJECTS_REFUSED);
	else
		o->path = (uint32_t)(cpa_offset(path) / CPA_CACHE_LINE);
	return path;
}

void cpa_object_clear(struct cpa_self *self, struct cpa_object *o)
{
	uint32_t token;

	if (o->path)
		cpa_path_clear(self, cpa_object_place(o));
	/*
	 * The word of an annotation is a cell; the word of shadow/edge/merge.h is a cell without
	 * pins.
	 */
	cpa_cell_clear(self, &o->merged);
	for (unsigned i = 0; i < CPA_ROUNDS; i++) {
		token = cpa_merge_take(&o->round[i]);
		/*
		 * A complete round that some threads have not left yet: they may still be reading
		 * the token.
		 */
		if (token && o->waiting && cpa_token(token)->key <= o->passes / o->waiting)
			cpa_diag(CPA_DIAG_TOKENS_REFUSED);
		else if (token)
			cpa_token_free(self, token);
	}
	cpa_fifo_drain(self, o);
	o->waiting = 0;
	o->passes = 0;
}
