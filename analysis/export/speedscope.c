/* SPDX-License-Identifier: MIT */
#include "analysis/export/speedscope.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "analysis/export/slices.h"
#include "analysis/export/stack_sums.h"

/* Profiles may be many and long: they are written as they are made. */
struct writing {
	FILE *out;
	bool inside;	  /* an element of the present array was written */
	uint64_t at, end; /* of the present profile: its last time, and where it ends */
};

static void put_text(const struct writing *w, const char *text)
{
	json_t *value = json_string(text);

	json_dumpf(value, w->out, JSON_ENCODE_ANY);
	json_decref(value);
}

static void separate(struct writing *w)
{
	if (w->inside)
		fputc(',', w->out);
	w->inside = true;
}

static void put_frame(struct writing *w, const char *name)
{
	separate(w);
	fputs("{\"name\":", w->out);
	put_text(w, name);
	fputc('}', w->out);
}

static void begin_file(struct writing *w)
{
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
	      "\"exporter\":\"cpa " CPA_VERSION "\",\"activeProfileIndex\":0,"
	      "\"shared\":{\"frames\":[",
	      w->out);
}

static void end_file(const struct writing *w, const struct cpa_profile *profile)
{
	fputs("],\"name\":", w->out);
	put_text(w, profile->program.name);
	fputs("}\n", w->out);
}

static void begin_profile(struct writing *w, const char *type, const char *name, uint64_t end)
{
	separate(w);
	fprintf(w->out,
		"\n{\"type\":\"%s\",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":"
		"%" PRIu64 ",\"name\":",
		type, end);
	put_text(w, name);
	w->inside = false;
	w->at = 0;
	w->end = end;
}

/* Times within a profile must not go back. */
static void put_event(struct writing *w, char type, size_t frame, uint64_t at)
{
	w->at = at > w->at ? at : w->at;
	w->at = w->at < w->end ? w->at : w->end;
	separate(w);
	fprintf(w->out, "{\"type\":\"%c\",\"frame\":%zu,\"at\":%" PRIu64 "}", type, frame, w->at);
}

static void put_slice(struct writing *w, size_t frame, uint64_t from, uint64_t to)
{
	put_event(w, 'O', frame, from);
	put_event(w, 'C', frame, to);
}

static void end_profile(struct writing *w)
{
	fputs("]}", w->out);
	w->inside = true;
}

static void put_lane(struct writing *w, const struct cpa_slices *slices, size_t lane, uint64_t end)
{
	struct cpa_slice slice;

	begin_profile(w, "evented", slices->lane_name[lane], end);
	fputs(",\"events\":[", w->out);
	for (size_t i = 0; i < slices->lanes->run->thread[lane].events; i++) {
		if (cpa_slice_activity(slices, lane, i, &slice))
			put_slice(w, slice.name, slice.from, slice.to);
		if (cpa_slice_wait(slices, lane, i, &slice))
			put_slice(w, slice.name, slice.from, slice.to);
	}
	end_profile(w);
}

/* Frames of paths are the threads that they lead through, behind the names of stretches. */
static void put_paths(struct writing *w, const struct cpa_slices *slices, uint64_t end)
{
	const struct cpa_lanes *lanes = slices->lanes;
	size_t count;
	struct cpa_stretch *critical = cpa_slices_critical(slices, &count);

	begin_profile(w, "evented", "observed path", end);
	fputs(",\"events\":[", w->out);
	for (size_t i = 0; i < lanes->pieces; i++)
		put_slice(w, slices->names + lanes->piece[i].lane,
			  cpa_slices_ns(slices, lanes->piece[i].from),
			  cpa_slices_ns(slices, lanes->piece[i].to));
	end_profile(w);
	begin_profile(w, "evented", "critical path", end);
	fputs(",\"events\":[", w->out);
	for (size_t i = 0; i < count; i++)
		put_slice(w, slices->names + critical[i].lane, critical[i].from, critical[i].to);
	end_profile(w);
	free(critical);
}

/* "[3,7]": the frames of @stack; the first name of a stack has number @first. */
static void put_stack(const struct writing *w, const struct cpa_stack_sums *stacks,
		      const struct cpa_stack_times *stack, size_t first)
{
	uint32_t name[CPA_STACK_MOST];
	size_t names = cpa_stack_sums_names(stacks, stack, name);

	for (size_t i = 0; i < names; i++)
		fprintf(w->out, "%c%zu", i ? ',' : '[', first + name[i]);
	fputc(']', w->out);
}

static void put_weights(struct writing *w, const struct cpa_stack_sums *stacks, size_t first,
			enum cpa_weight weight)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < stacks->count; i++)
		sum += stacks->stack[i].weight_ns[weight];
	begin_profile(w, "sampled", cpa_weight_name(weight), sum);
	fputs(",\"samples\":[", w->out);
	for (size_t i = 0; i < stacks->count; i++) {
		if (!stacks->stack[i].weight_ns[weight])
			continue;
		separate(w);
		put_stack(w, stacks, &stacks->stack[i], first);
	}
	fputs("],\"weights\":[", w->out);
	w->inside = false;
	for (size_t i = 0; i < stacks->count; i++) {
		if (!stacks->stack[i].weight_ns[weight])
			continue;
		separate(w);
		fprintf(w->out, "%" PRIu64, stacks->stack[i].weight_ns[weight]);
	}
	end_profile(w);
}

static void put_sums(struct writing *w, const struct cpa_stack_sums *stacks, size_t first)
{
	for (unsigned weight = 0; weight < CPA_WEIGHTS; weight++)
		put_weights(w, stacks, first, weight);
}

static void put_names(struct writing *w, const struct cpa_stack_sums *stacks)
{
	for (size_t i = 0; i < stacks->names; i++)
		put_frame(w, stacks->name[i].name);
}

static void begin_profiles(struct writing *w)
{
	fputs("]},\"profiles\":[", w->out);
	w->inside = false;
}

/* Sums follow if stacks were taken: times alone are seen better over time. */
static void write_lanes(struct writing *w, const struct cpa_slices *slices,
			const struct cpa_stack_sums *stacks)
{
	size_t threads = slices->lanes->run->threads;
	uint64_t end = cpa_slices_ns(slices, slices->lanes->to);

	begin_file(w);
	for (size_t i = 0; i < slices->names; i++)
		put_frame(w, slices->name[i]);
	for (size_t i = 0; i < threads; i++)
		put_frame(w, slices->lane_name[i]);
	if (stacks->contexts)
		put_names(w, stacks);
	begin_profiles(w);
	put_paths(w, slices, end);
	for (size_t i = 0; i < threads; i++)
		put_lane(w, slices, i, end);
	if (stacks->contexts)
		put_sums(w, stacks, slices->names + threads);
	end_file(w, slices->profile);
}

static void write_sums(struct writing *w, const struct cpa_profile *profile,
		       const struct cpa_stack_sums *stacks)
{
	begin_file(w);
	put_names(w, stacks);
	begin_profiles(w);
	put_sums(w, stacks, 0);
	end_file(w, profile);
}

/* Return 0; or 1 with *@error if the journal is damaged. */
static int write_journal(struct writing *w, struct cpa_dump *dump,
			 const struct cpa_profile *profile, const struct cpa_stack_sums *stacks,
			 char **error)
{
	struct cpa_slices slices;
	struct cpa_lanes *lanes;

	lanes = cpa_lanes_build(dump, profile->program.observed_thread, error);
	if (!lanes)
		return 1;
	cpa_slices_init(&slices, dump, lanes, profile);
	write_lanes(w, &slices, stacks);
	cpa_slices_fini(&slices);
	cpa_lanes_free(lanes);
	return 0;
}

int cpa_speedscope_write(struct cpa_dump *dump, const struct cpa_profile *profile, FILE *out,
			 char **error)
{
	struct writing w = { .out = out };
	struct cpa_stack_sums stacks;
	int ret = 0;

	cpa_stack_sums_init(&stacks, profile);
	if (dump->header.journal)
		ret = write_journal(&w, dump, profile, &stacks, error);
	else
		write_sums(&w, profile, &stacks);
	cpa_stack_sums_fini(&stacks);
	return ret;
}
