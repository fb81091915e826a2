/* SPDX-License-Identifier: MIT */
#include "shadow/path/version.h"

#include <string.h>

#include "shadow/store/heap.h"

static struct cpa_version *version_new(struct cpa_self *self, uint32_t slots, bool of_o)
{
	struct cpa_version *v, **spare = self->spare[of_o];

	self->slow++;
	for (uint32_t i = self->spare_count[of_o]; i-- > 0;) {
		v = spare[i];
		if (v->slots == slots) {
			spare[i] = spare[--self->spare_count[of_o]];
			v->refs = 1;
			return v;
		}
	}
	v = cpa_heap_take(cpa_version_size(slots, of_o));
	if (!v) {
		cpa_diag(CPA_DIAG_VERSIONS_REFUSED);
		return NULL;
	}
	v->slots = slots;
	v->refs = 1;
	return v;
}

void cpa_version_put(struct cpa_self *self, struct cpa_version *v, bool of_o)
{
	struct cpa_version **spare = self->spare[of_o];
	uint32_t *count = &self->spare_count[of_o];

	/* A sole reference needs no atomic operation: no other thread can add one. */
	/* ACQUIRE/RELEASE: all reads of v through dropped references precede its next use. */
	if (__atomic_load_n(&v->refs, __ATOMIC_ACQUIRE) != 1 &&
	    __atomic_fetch_sub(&v->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	if (*count == CPA_SPARE_VERSIONS) {
		cpa_heap_free(spare[0]);
		spare[0] = spare[--*count];
	}
	spare[(*count)++] = v;
}

bool cpa_versions_new(struct cpa_self *self, uint32_t slots, struct cpa_version *v[2])
{
	v[0] = version_new(self, slots, false);
	v[1] = v[0] ? version_new(self, slots, true) : NULL;
	if (v[0] && !v[1])
		cpa_version_put(self, v[0], false);
	return v[1];
}

void cpa_version_note_slack(struct cpa_version *v)
{
	uint64_t *most = v->value + 2 * v->slots;

	v->max_slack = 0;
	for (uint32_t i = 0; i < v->slots; i += CPA_VERSION_BLOCK) {
		uint64_t max = 0;

		for (uint32_t k = i; k < i + CPA_VERSION_BLOCK; k++)
			max = v->value[k] > max ? v->value[k] : max;
		most[i / CPA_VERSION_BLOCK] = max;
		v->max_slack = max > v->max_slack ? max : v->max_slack;
	}
}

void cpa_version_copy(struct cpa_version *to, const struct cpa_version *from, bool of_o)
{
	memcpy(&to->slack, &from->slack,
	       cpa_version_size(to->slots, of_o) - offsetof(struct cpa_version, slack));
}

void cpa_version_extend(struct cpa_version *to, const struct cpa_version *from, bool of_o)
{
	unsigned parts = of_o ? 1 : 2;
	uint64_t *value = to->value;

	to->slack = from ? from->slack : 0;
	to->max_slack = from ? from->max_slack : 0;
	memset(value, 0, cpa_version_size(to->slots, of_o) - sizeof(*to));
	for (unsigned i = 0; from && i < parts; i++)
		memcpy(value + i * to->slots, from->value + i * from->slots,
		       from->slots * sizeof(*value));
	if (from && !of_o)
		memcpy(value + 2 * to->slots, from->value + 2 * from->slots,
		       from->slots / CPA_VERSION_BLOCK * sizeof(*value));
}

void cpa_version_forget_spares(struct cpa_self *self)
{
	for (unsigned k = 0; k < 2; k++)
		while (self->spare_count[k])
			cpa_heap_free(self->spare[k][--self->spare_count[k]]);
}
