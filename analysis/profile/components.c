/* SPDX-License-Identifier: MIT */
/* analysis/profile/components.c - components with their shares and savings, and lock classes */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/build.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/symbols/chain.h"
#include "analysis/util/format.h"

#define LISTED 2 /* names of a shared slot that are written in full */

/* A component row that has a slot. */
struct member {
	const struct cpa_component *row;
	uint32_t number;
};

/*
 * Functions with their callees: their figures go to the functions, not to components of their own.
 */
struct wholes {
	size_t count;
	struct cpa_component *row; /* by address */
};

static int compare_wholes(const void *a, const void *b)
{
	const struct cpa_component *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->row->slot != y->row->slot)
		return x->row->slot < y->row->slot ? -1 : 1;
	if (x->row->kind != y->row->kind)
		return x->row->kind < y->row->kind ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Order: largest first; ties by name, so that two reports of one dump are the same. */
static int order(double a, double b, const char *x, const char *y)
{
	if (a != b)
		return a > b ? -1 : 1;
	return strcmp(x, y);
}

static int compare_components(const void *a, const void *b)
{
	const struct cpa_component_figures *x = a, *y = b;

	if (x->saved_s != y->saved_s)
		return x->saved_s > y->saved_s ? -1 : 1;
	return order(x->total_s, y->total_s, x->name, y->name);
}

/* "a, b, +3 more"; the caller frees it. */
static char *join_names(struct cpa_names *names, const struct member *members, size_t count)
{
	char *text = cpa_chain_component(names, members[0].number), *one, *longer;

	for (size_t i = 1; i < count; i++) {
		if (i == LISTED && count > LISTED + 1) {
			longer = cpa_format_text("%s, +%zu more", text, count - i);
			free(text);
			return longer;
		}
		one = cpa_chain_component(names, members[i].number);
		longer = cpa_format_text("%s, %s", text, one);
		free(one);
		free(text);
		text = longer;
	}
	return text;
}

static struct cpa_component_figures *add_slot(struct cpa_build *build, uint32_t slot)
{
	struct cpa_profile *profile = build->profile;
	struct cpa_component_figures *figures = &profile->component[profile->components++];

	*figures = (struct cpa_component_figures){
		.slot = slot,
		.total_s = cpa_build_seconds(build, build->total[slot]),
		.critical_path_s = cpa_build_seconds(build, build->program.share[slot]),
		.observed_path_s = cpa_build_seconds(build, build->program.observed[slot]),
		.saved_s = cpa_build_seconds(build, build->program.slack[slot]),
	};
	return figures;
}

static void fill_calls(struct cpa_build *build, const struct cpa_component *row,
		       const struct wholes *wholes, struct cpa_component_figures *figures)
{
	const struct cpa_component *whole =
		bsearch(row, wholes->row, wholes->count, sizeof(*wholes->row), compare_wholes);

	figures->calls = row->calls;
	figures->inclusive_s = cpa_build_seconds(build, row->inclusive);
	figures->has_whole = whole && !whole->shared;
	if (!figures->has_whole)
		return;
	figures->whole_saved_s = cpa_build_seconds(build, build->program.slack[whole->slot]);
	figures->whole_critical_path_s =
		cpa_build_seconds(build, build->program.share[whole->slot]);
	figures->whole_slot = whole->slot;
}

/* The part of a function that component row @number is, or NULL. */
static struct cpa_part_of_function *part_of_function(struct cpa_build *build, uint32_t number)
{
	struct cpa_part_of_function *part;
	struct cpa_chain chain;

	if (!cpa_chain_of(build->names, number, &chain))
		return NULL;
	part = xcalloc(1, sizeof(*part));
	part->row = number;
	part->function = xstrdup(cpa_names_component(build->names, number)->name);
	part->callers = cpa_chain_names(&chain);
	part->unknown = !chain.callers && chain.cut;
	part->caller = xcalloc(part->callers + 1, sizeof(*part->caller));
	for (uint32_t i = 0; i < part->callers; i++)
		part->caller[i] = xstrdup(cpa_chain_name(build->names, &chain, i));
	return part;
}

/* Add the @count components at @members. They have one kind and one slot, so one set of figures. */
static void add_group(struct cpa_build *build, const struct member *members, size_t count,
		      const struct wholes *wholes)
{
	const struct cpa_component *row = members[0].row;
	const struct cpa_place *place = cpa_names_component(build->names, members[0].number);
	struct cpa_component_figures *figures = add_slot(build, row->slot);

	figures->kind = row->kind;
	figures->by = row->by;
	if (row->kind == CPA_EXTERNAL)
		figures->class = cpa_external_class(row->address);
	figures->name = join_names(build->names, members, count);
	figures->shared = count > 1 || row->shared != 0;
	if (place->location && count == 1)
		figures->location = xstrdup(place->location);
	figures->nameless = place->nameless && count == 1;
	if (count == 1)
		cpa_build_place(build, row, figures);
	if (!figures->shared)
		figures->part = part_of_function(build, members[0].number);
	if (row->since && !figures->shared)
		cpa_build_found(build, row, figures);
	if (row->kind == CPA_FUNCTION && row->calls && count == 1)
		fill_calls(build, row, wholes, figures);
}

static void add_unsampled(struct cpa_build *build)
{
	struct cpa_component_figures *figures = add_slot(build, CPA_SLOT_UNSAMPLED);

	figures->kind = CPA_FUNCTION;
	figures->name = xstrdup("(not sampled)");
}

void cpa_build_components(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	struct cpa_names *names = build->names;
	struct member *members = xcalloc(names->components + 1, sizeof(*members));
	struct wholes wholes = { .row = xcalloc(names->components + 1, sizeof(*wholes.row)) };
	size_t count = 0, next;

	for (uint32_t number = 1; number <= names->components; number++) {
		const struct cpa_component *row = cpa_names_row(names, number);

		if (!row || row->kind == CPA_ACTIVITY || row->slot < CPA_SLOT_FIRST)
			continue;
		if (row->by == CPA_BY_CALL)
			wholes.row[wholes.count++] = *row;
		else
			members[count++] = (struct member){ row, number };
	}
	qsort(members, count, sizeof(*members), compare_members);
	qsort(wholes.row, wholes.count, sizeof(*wholes.row), compare_wholes);
	profile->component = xcalloc(count + 1, sizeof(*profile->component));
	for (size_t i = 0; i < count; i = next) {
		for (next = i + 1; next < count; next++)
			if (members[next].row->slot != members[i].row->slot ||
			    members[next].row->kind != members[i].row->kind)
				break;
		add_group(build, &members[i], next - i, &wholes);
	}
	if (build->total[CPA_SLOT_UNSAMPLED] || build->program.share[CPA_SLOT_UNSAMPLED])
		add_unsampled(build);
	qsort(profile->component, profile->components, sizeof(*profile->component),
	      compare_components);
	free(wholes.row);
	free(members);
}

/*
 * Ticks for which the present owner has held the lock. The counters of a lock include a hold only
 * after its release.
 */
static uint64_t held_until_now(const struct cpa_build *build, const struct cpa_object *row)
{
	const struct cpa_header *header = &build->dump->header;
	uint64_t since, now;

	if (row->holder == 0 || row->since < header->start_ticks || row->since >= build->end)
		return 0;
	since = cpa_build_on(build, row->since);
	now = cpa_build_on(build, build->end);
	return now > since ? now - since : 0;
}

static int compare_objects(const void *a, const void *b)
{
	const struct cpa_object_figures *x = a, *y = b;

	return order(x->wait_s, y->wait_s, x->class, y->class);
}

/*
 * Add the counters of live objects to those of destroyed ones, by class. Store in @queues the queue
 * that owns a class; 0: none.
 */
static void sum_objects(struct cpa_build *build, struct cpa_component *classes, uint32_t *queues)
{
	struct cpa_dump *dump = build->dump;
	struct cpa_object row;

	for (uint32_t i = 1; i <= dump->rows[CPA_TABLE_OBJECTS]; i++) {
		const struct cpa_component *known;
		struct cpa_component *class;

		if (!cpa_dump_row(dump, CPA_TABLE_OBJECTS, i, &row, sizeof(row)) || row.kind == 0 ||
		    row.kind == CPA_HANDLE || row.kind == CPA_ALIAS)
			continue;
		known = cpa_names_row(build->names, row.class);
		/*
		 * A class row may be missing: it is made with the first operation that needs one.
		 */
		if (row.kind >= CPA_OBJECT_KINDS || (row.class && !known) ||
		    (known && known->kind != CPA_LOCK)) {
			cpa_dump_skip(dump, CPA_TABLE_OBJECTS);
			continue;
		}
		if (!known)
			continue;
		class = &classes[row.class - 1];
		class->retired_objects++;
		if (queues[row.class - 1] == 0)
			queues[row.class - 1] = cpa_build_queue_class(build, row.queue);
		class->retired_acquisitions += row.acquisitions;
		class->retired_contended += row.contended;
		class->retired_handoffs += row.handoffs;
		class->retired_wait += row.wait;
		class->retired_hold += row.hold + held_until_now(build, &row);
		if (class->object_kind == 0)
			class->object_kind = row.kind;
	}
}

static void add_class(struct cpa_build *build, uint32_t number, const struct cpa_component *class,
		      uint32_t queue)
{
	struct cpa_profile *profile = build->profile;
	const struct cpa_place *place = cpa_names_component(build->names, number);
	struct cpa_object_figures *figures = &profile->object[profile->objects++];

	*figures = (struct cpa_object_figures){
		.row = number,
		.slot = class->slot >= CPA_SLOT_FIRST ? class->slot : 0,
		.kind = cpa_names_object_kind(class->object_kind),
		.class = xstrdup(place->name),
		.location = place->location ? xstrdup(place->location) : NULL,
		.by = class->by,
		.objects = class->retired_objects,
		.acquisitions = class->retired_acquisitions,
		.contended = class->retired_contended,
		.handoffs = class->retired_handoffs,
		.wait_s = cpa_build_seconds(build, class->retired_wait),
		.hold_s = cpa_build_seconds(build, class->retired_hold),
		.has_slot = class->slot >= CPA_SLOT_FIRST,
	};
	if (queue)
		figures->queue = xstrdup(cpa_names_component(build->names, queue)->name);
	if (!figures->has_slot)
		return;
	figures->saved_s = cpa_build_seconds(build, build->program.slack[class->slot]);
	figures->critical_path_s = cpa_build_seconds(build, build->program.share[class->slot]);
}

void cpa_build_objects(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	struct cpa_names *names = build->names;
	struct cpa_component *classes = xcalloc(names->components + 1, sizeof(*classes));
	uint32_t *queues = xcalloc(names->components + 1, sizeof(*queues));

	memcpy(classes, names->component, names->components * sizeof(*classes));
	sum_objects(build, classes, queues);
	profile->object = xcalloc(names->components + 1, sizeof(*profile->object));
	for (uint32_t i = 0; i < names->components; i++)
		if (classes[i].key && classes[i].kind == CPA_LOCK && classes[i].retired_objects)
			add_class(build, i + 1, &classes[i], queues[i]);
	qsort(profile->object, profile->objects, sizeof(*profile->object), compare_objects);
	free(queues);
	free(classes);
}
