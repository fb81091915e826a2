/* SPDX-License-Identifier: MIT */
#include "preload/core/region.h"

#include <errno.h>
#include <string.h>

#include "preload/core/track.h"
#include "shadow/graph/component.h"
#include "shadow/store/epoch.h"
#include "shadow/store/hash.h"
#include "shadow/store/name.h"

/* Whether name row @row, not 0, still holds @text: the program may have changed the text. */
static bool is_text_of(uint32_t row, const char *text)
{
	const struct cpa_name *name = cpa_row(CPA_TABLE_NAMES, row);

	return !strncmp(name->text, text, sizeof(name->text) - 1);
}

/* The component row of the region @text; 0: no space. */
static uint32_t region_of(struct cpa_worker *w, const char *text)
{
	unsigned at = (unsigned)(cpa_hash((uint64_t)text) >> 40) % CPA_REGION_CACHE;
	struct cpa_component_name name = { .kind = CPA_REGION, .by = CPA_BY_NAME };

	if (likely(w->regions.names[at].text == text &&
		   is_text_of(w->regions.names[at].name, text)))
		return w->regions.names[at].component;
	name.address = cpa_name(text);
	if (!name.address)
		return 0;
	w->regions.names[at].text = text;
	w->regions.names[at].name = (uint32_t)name.address;
	w->regions.names[at].component = cpa_component_intern(&name);
	return w->regions.names[at].component;
}

void cpa_region_begin(const char *name, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	uint32_t region;

	if (unlikely(!w))
		return;
	region = region_of(w, name ? name : "");
	cpa_event(w, CPA_EV_REGION, caller, region);
	if (likely(w->regions.count < CPA_REGIONS)) {
		w->regions.stack[w->regions.count] = region;
		if (region)
			cpa_hold(&w->self, region, cpa_component_slot(region));
	} else {
		cpa_diag(CPA_DIAG_REGIONS_UNBALANCED);
	}
	w->regions.count++;
	cpa_done(w);
	errno = err;
}

void cpa_region_end(uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	uint32_t region = 0;

	if (unlikely(!w))
		return;
	if (likely(w->regions.count && w->regions.count <= CPA_REGIONS))
		region = w->regions.stack[w->regions.count - 1];
	cpa_event(w, CPA_EV_REGION_END, caller, region);
	if (region)
		cpa_unhold(&w->self, region);
	if (likely(w->regions.count))
		w->regions.count--;
	else if (w->window.epoch == CPA_EPOCH_ON) /* else it may have begun while off */
		cpa_diag(CPA_DIAG_REGIONS_UNBALANCED);
	cpa_done(w);
	errno = err;
}

void cpa_region_leave(struct cpa_worker *w)
{
	if (unlikely(w->regions.count))
		cpa_diag_add(CPA_DIAG_REGIONS_UNBALANCED, w->regions.count);
	w->regions.count = 0;
}

void cpa_region_mark(const char *name, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	uint64_t now;

	if (unlikely(!w))
		return;
	now = cpa_event(w, CPA_EV_MARK, caller, 0);
	cpa_mark(cpa_name(name), (uint32_t)w->self.row->key, w->self.row->path.len, now);
	cpa_done(w);
	errno = err;
}
