/* SPDX-License-Identifier: MIT */
#include "analysis/export/stack_sums.h"
#include "analysis/profile/components.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

struct used {
	const struct cpa_context_figures *figures;
	uint32_t number; /* from 1 */
};

/* Order of contexts by the function that they are of. */
static int compare_functions(const void *a, const void *b)
{
	const struct cpa_context_figures *x = ((const struct used *)a)->figures;
	const struct cpa_context_figures *y = ((const struct used *)b)->figures;

	if (x->component != y->component)
		return x->component < y->component ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Order by function, and of each by place in it. */
static int compare_places(const void *a, const void *b)
{
	const struct cpa_context_figures *x = ((const struct used *)a)->figures;
	const struct cpa_context_figures *y = ((const struct used *)b)->figures;
	int order = compare_functions(a, b);

	if (order)
		return order;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return strcmp(x->line ? x->line : "", y->line ? y->line : "");
}

/* The contexts, by function. */
struct sorted {
	size_t count;
	struct used *context;
};

static struct sorted sort_contexts(const struct cpa_contexts *contexts)
{
	size_t count = contexts ? contexts->count : 0;
	struct sorted sorted = { .context = xcalloc(count + 1, sizeof(*sorted.context)) };

	for (size_t i = 0; i < count; i++)
		sorted.context[sorted.count++] =
			(struct used){ &contexts->context[i], (uint32_t)i + 1 };
	qsort(sorted.context, sorted.count, sizeof(*sorted.context), compare_places);
	return sorted;
}

/* Index of the frame of each component of @profile; its number of frames: none. */
static size_t *frames_of(const struct cpa_frames *frames, const struct cpa_profile *profile)
{
	size_t *frame = xcalloc(profile->components + 1, sizeof(*frame));

	for (size_t i = 0; i < profile->components; i++)
		frame[i] = frames->count;
	for (size_t i = 0; i < frames->count; i++)
		if (frames->frame[i].component)
			frame[frames->frame[i].component - profile->component] = i;
	return frame;
}

static uint32_t add_name(struct cpa_stack_sums *s, const struct cpa_stack_name *name)
{
	s->name[s->names] = *name;
	return (uint32_t)s->names++;
}

/* A name for the function of @c, which has no frame. */
static uint32_t name_function(struct cpa_stack_sums *s, const struct cpa_context_figures *c)
{
	return add_name(s, &(struct cpa_stack_name){
				   .name = c->name,
				   .location = c->location,
				   .module = c->inlined ? 0 : c->module,
				   .offset = c->inlined ? 0 : c->offset,
				   .function = (uint32_t)s->names,
			   });
}

/* Add a name for the place of @c in its function. @function: index of the function's name. */
static uint32_t name_place(struct cpa_stack_sums *s, const struct cpa_context_figures *c,
			   uint32_t function)
{
	struct cpa_stack_name name = s->name[function];

	name.offset = c->inlined ? 0 : c->at;
	name.line = c->line;
	return add_name(s, &name);
}

/*
 * A name for each frame, one for each other function of the contexts, and for each place in them.
 */
static void name_all(struct cpa_stack_sums *s, const struct sorted *sorted, const size_t *frame,
		     const struct cpa_profile *profile)
{
	uint32_t function = 0;

	s->name = xcalloc(s->frames.count + 2 * sorted->count + 1, sizeof(*s->name));
	s->name_of = xcalloc((s->contexts ? s->contexts->count : 0) + 1, sizeof(*s->name_of));
	for (size_t i = 0; i < s->frames.count; i++) {
		const struct cpa_frame *f = &s->frames.frame[i];

		add_name(s, &(struct cpa_stack_name){
				    .name = f->name,
				    .location = f->location,
				    .module = f->component ? f->component->module : 0,
				    .offset = f->component ? f->component->offset : 0,
				    .function = (uint32_t)i,
			    });
	}
	for (size_t i = 0; i < sorted->count; i++) {
		const struct used *context = &sorted->context[i];
		const struct cpa_context_figures *c = context->figures;
		uint32_t *name = &s->name_of[context->number - 1];
		size_t of = c->component ? frame[c->component - profile->component] :
					   s->frames.count;

		if (!i || compare_functions(context - 1, context))
			function = of < s->frames.count && !c->inlined ? (uint32_t)of :
									 name_function(s, c);
		if (!c->at && !c->line)
			*name = function;
		else if (i && !compare_places(context - 1, context))
			*name = s->name_of[context[-1].number - 1];
		else
			*name = name_place(s, c, function);
	}
}

/* The time of @weight in @context, in nanoseconds. */
static uint64_t part_of(const struct cpa_context_figures *context, enum cpa_weight weight)
{
	double seconds = weight == CPA_WEIGHT_PATH ? context->path_s :
			 weight == CPA_WEIGHT_CPU  ? context->cpu_s :
						     0;

	return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

/* Divide the @weight of @whole among @count stacks: their sum is that of @whole. */
static void divide(const struct cpa_stack_sums *s, struct cpa_stack_times *whole,
		   struct cpa_stack_times *stack, size_t count, enum cpa_weight weight)
{
	uint64_t rest = whole->weight_ns[weight], part;
	size_t last = count;

	for (size_t i = 0; i < count; i++) {
		part = part_of(&s->contexts->context[stack[i].context - 1], weight);
		if (!part)
			continue;
		stack[i].weight_ns[weight] = part < rest ? part : rest;
		rest -= stack[i].weight_ns[weight];
		last = i;
	}
	if (last == count)
		return;
	stack[last].weight_ns[weight] += rest;
	whole->weight_ns[weight] = 0;
}

/* The stacks of @frame: it alone, and in the @count contexts at @context. */
static void add_frame(struct cpa_stack_sums *s, size_t frame, const struct used *context,
		      size_t count)
{
	struct cpa_stack_times *whole = &s->stack[s->count];

	*whole = (struct cpa_stack_times){ .frame = frame };
	memcpy(whole->weight_ns, s->frames.frame[frame].weight_ns, sizeof(whole->weight_ns));
	for (size_t i = 0; i < count; i++)
		whole[1 + i] = (struct cpa_stack_times){
			.frame = frame,
			.context = context[i].number,
		};
	for (unsigned weight = 0; weight < CPA_WEIGHTS; weight++)
		divide(s, whole, whole + 1, count, weight);
	s->count += 1 + count;
}

void cpa_stack_sums_init(struct cpa_stack_sums *stacks, const struct cpa_profile *profile)
{
	struct sorted sorted = sort_contexts(profile->contexts);
	size_t *frame, *first, *count;

	*stacks = (struct cpa_stack_sums){ .contexts = profile->contexts };
	cpa_frames_init(&stacks->frames, profile);
	frame = frames_of(&stacks->frames, profile);
	name_all(stacks, &sorted, frame, profile);
	first = xcalloc(stacks->frames.count + 1, sizeof(*first));
	count = xcalloc(stacks->frames.count + 1, sizeof(*count));
	for (size_t i = 0; i < sorted.count; i++) {
		const struct cpa_component_figures *c = sorted.context[i].figures->component;
		size_t of = c ? frame[c - profile->component] : stacks->frames.count;

		if (of < stacks->frames.count && !count[of]++)
			first[of] = i;
	}
	stacks->stack = xcalloc(stacks->frames.count + sorted.count + 1, sizeof(*stacks->stack));
	for (size_t i = 0; i < stacks->frames.count; i++)
		add_frame(stacks, i, sorted.context + first[i], count[i]);
	free(count);
	free(first);
	free(frame);
	free(sorted.context);
}

void cpa_stack_sums_fini(struct cpa_stack_sums *stacks)
{
	free(stacks->stack);
	free(stacks->name_of);
	free(stacks->name);
	cpa_frames_fini(&stacks->frames);
}

size_t cpa_stack_sums_names(const struct cpa_stack_sums *stacks,
			    const struct cpa_stack_times *stack, uint32_t *to)
{
	const struct cpa_context_figures *contexts;
	size_t depth = 1, at;
	uint32_t caller;

	to[0] = (uint32_t)stack->frame;
	if (!stacks->contexts || !stack->context)
		return 1;
	contexts = stacks->contexts->context;
	caller = contexts[stack->context - 1].caller;
	for (uint32_t c = caller; c && depth < CPA_STACK_MOST; c = contexts[c - 1].caller)
		depth++;
	at = depth;
	to[--at] = stacks->name_of[stack->context - 1];
	for (uint32_t c = caller; at; c = contexts[c - 1].caller)
		to[--at] = stacks->name_of[c - 1];
	return depth;
}
