/* SPDX-License-Identifier: MIT */
/* analysis/page/html_stacks.c - what was active together, on the paths and in all */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/page/html_sums.h"
#include "analysis/render/json_put.h"
#include "analysis/profile/components.h"

enum weight { ON_CRITICAL_PATH, ON_OBSERVED_PATH, ALL, WEIGHTS };

#define REST 0u /* a node without a component */

/* Indices in the array of nodes; 0 is the root, and as a link: none. */
struct node {
	uint32_t component; /* number in the profile, from 1 */
	size_t child, next;
	uint64_t ticks[WEIGHTS];
};

struct stacks {
	const struct cpa_profile *profile;
	uint32_t *component; /* by slot: number in the profile, from 1; 0: none */
	uint32_t slots;
	struct node *node;
	size_t nodes, room;
};

static size_t child_of(struct stacks *s, size_t parent, uint32_t component)
{
	size_t child = s->node[parent].child;

	while (child && s->node[child].component != component)
		child = s->node[child].next;
	if (child)
		return child;
	if (s->nodes == s->room) {
		s->room = s->room ? 2 * s->room : 64;
		s->node = XRESIZEVEC(struct node, s->node, s->room);
	}
	s->node[s->nodes] = (struct node){ .component = component, .next = s->node[parent].child };
	s->node[parent].child = s->nodes;
	return s->nodes++;
}

static void add(struct stacks *s, size_t node, uint64_t ticks, uint8_t on)
{
	struct node *n = &s->node[node];

	n->ticks[ALL] += ticks;
	if (on & CPA_ON_CRITICAL)
		n->ticks[ON_CRITICAL_PATH] += ticks;
	if (on & CPA_ON_ACTIVITY)
		n->ticks[ON_OBSERVED_PATH] += ticks;
}

static enum cpa_component_kind kind_of(const struct stacks *s, uint32_t component)
{
	return s->profile->component[component - 1].kind;
}

/* What weighs in the inherent path: idle time does not. */
static uint64_t weight_of(const struct cpa_history_event *e)
{
	return e->process + e->external - e->idle;
}

/* A function, or an external that weighs. */
static bool is_leaf(const struct stacks *s, uint32_t component)
{
	const struct cpa_component_figures *figures = &s->profile->component[component - 1];

	return figures->kind == CPA_FUNCTION ||
	       (figures->kind == CPA_EXTERNAL && figures->class == CPA_EXT_SERVICE);
}

static uint32_t component_of(const struct stacks *s, const struct cpa_charge *charge)
{
	return charge->slot < s->slots ? s->component[charge->slot] : 0;
}

/* Descend to @kind's components that were active for all of the activity. */
static size_t descend(struct stacks *s, size_t at, const struct cpa_history_event *e,
		      enum cpa_component_kind kind, uint8_t on)
{
	uint64_t weight = weight_of(e);

	for (uint32_t i = 0; i < e->charges; i++) {
		uint32_t component = component_of(s, &e->charge[i]);

		if (!component || kind_of(s, component) != kind || e->charge[i].ticks < weight)
			continue;
		at = child_of(s, at, component);
		add(s, at, weight, on);
	}
	return at;
}

static void add_event(struct stacks *s, const struct cpa_history_event *e, uint8_t on)
{
	static const enum cpa_component_kind whole[] = { CPA_THREAD, CPA_REGION, CPA_QUEUE,
							 CPA_LOCK };
	uint64_t weight = weight_of(e), left = weight;
	size_t at = 0;

	if (!weight)
		return;
	add(s, at, weight, on);
	for (unsigned i = 0; i < ARRAY_SIZE(whole); i++)
		at = descend(s, at, e, whole[i], on);
	for (uint32_t i = 0; i < e->charges && left; i++) {
		uint32_t component = component_of(s, &e->charge[i]);
		uint64_t ticks = e->charge[i].ticks < left ? e->charge[i].ticks : left;

		if (!component || !is_leaf(s, component))
			continue;
		add(s, child_of(s, at, component), ticks, on);
		left -= ticks;
	}
	if (left)
		add(s, child_of(s, at, REST), left, on);
}

/* The tree is as deep as locks and regions are nested: a few levels. */
static json_t *node_json(const struct stacks *s, size_t node)
{
	static const char *const keys[WEIGHTS] = { "critical_s", "observed_s", "all_s" };
	const struct node *n = &s->node[node];
	json_t *object = json_object(), *children = json_array();

	json_object_set_new(object, "component",
			    n->component ? json_integer(n->component - 1) : json_null());
	for (unsigned i = 0; i < WEIGHTS; i++)
		put_real(object, keys[i], (double)n->ticks[i] * s->profile->tick_s);
	for (size_t child = n->child; child; child = s->node[child].next)
		json_array_append_new(children, node_json(s, child));
	json_object_set_new(object, "children", children);
	return object;
}

json_t *cpa_html_stacks(const struct cpa_lanes *lanes, const struct cpa_profile *profile)
{
	struct stacks s = { .profile = profile, .nodes = 1, .room = 1 };
	json_t *root;

	s.node = XCNEW(struct node);
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].slot >= s.slots)
			s.slots = profile->component[i].slot + 1;
	s.component = XCNEWVEC(uint32_t, s.slots + 1);
	for (size_t i = profile->components; i-- > 0;)
		s.component[profile->component[i].slot] = (uint32_t)i + 1;
	s.component[0] = 0; /* no slot */
	for (size_t i = 0; i < lanes->run->threads; i++)
		for (size_t k = 0; k < lanes->run->thread[i].events; k++)
			add_event(&s, &lanes->run->thread[i].event[k], lanes->on[i][k]);
	root = node_json(&s, 0);
	free(s.component);
	free(s.node);
	return root;
}
