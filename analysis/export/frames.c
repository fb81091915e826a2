/* SPDX-License-Identifier: MIT */
#include "analysis/export/frames.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/names.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/threads.h"

const char *cpa_weight_name(enum cpa_weight weight)
{
	static const char *const names[CPA_WEIGHTS] = { "path", "cpu", "wall", "wait" };

	return names[weight];
}

enum cpa_weight cpa_weight_of(const char *name)
{
	unsigned weight = 0;

	while (weight < CPA_WEIGHTS && strcmp(name, cpa_weight_name(weight)) != 0)
		weight++;
	return weight;
}

static uint64_t nanoseconds(double seconds)
{
	/* Of a damaged dump it may be anything. */
	return seconds > 0 && seconds < 1e9 ? (uint64_t)llround(seconds * 1e9) : 0;
}

/* Add a frame, unless all its times are 0. */
static void add(struct cpa_frames *frames, const struct cpa_frame *frame)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < CPA_WEIGHTS; i++)
		all |= frame->weight_ns[i];
	if (all)
		frames->frame[frames->count++] = *frame;
	else
		free(frame->name);
}

static void add_components(struct cpa_frames *frames, const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *c = &profile->component[i];
		bool function = c->kind == CPA_FUNCTION;
		struct cpa_frame frame = { .kind = cpa_names_component_kind(c->kind),
					   .component = c,
					   .location = c->location };

		if (!function && c->kind != CPA_EXTERNAL)
			continue;
		frame.name = function ? xstrdup(c->part ? c->part->function : c->name) :
					cpa_format_text("%s %s", frame.kind, c->name);
		frame.weight_ns[CPA_WEIGHT_PATH] = nanoseconds(c->critical_path_s);
		frame.weight_ns[CPA_WEIGHT_CPU] = function ? nanoseconds(c->total_s) : 0;
		frame.weight_ns[CPA_WEIGHT_WALL] = nanoseconds(c->observed_path_s);
		add(frames, &frame);
	}
}

static void add_waits(struct cpa_frames *frames, const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *class = &profile->object[i];
		struct cpa_frame frame = { .kind = "lock", .location = class->location };

		frame.name = cpa_format_text("%s %s", class->kind, class->class);
		frame.weight_ns[CPA_WEIGHT_WAIT] = nanoseconds(class->wait_s);
		add(frames, &frame);
	}
}

static void add_other(struct cpa_frames *frames, enum cpa_weight weight, const char *name,
		      uint64_t ns)
{
	struct cpa_frame frame = { .kind = "other", .name = xstrdup(name) };

	frame.weight_ns[weight] = ns;
	add(frames, &frame);
}

/* What no frame has of @whole_s: the search gave a component figures for a part of the run only. */
static void add_remainder(struct cpa_frames *frames, enum cpa_weight weight, const char *name,
			  double whole_s)
{
	uint64_t whole = nanoseconds(whole_s), sum = 0;

	for (size_t i = 0; i < frames->count; i++)
		sum += frames->frame[i].weight_ns[weight];
	/* Each frame is rounded by half a nanosecond. */
	if (whole > sum + frames->count)
		add_other(frames, weight, name, whole - sum);
}

void cpa_frames_init(struct cpa_frames *frames, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	const double *segment = program->segment_s;
	double waits_s = 0;

	for (size_t i = 0; i < profile->threads; i++)
		waits_s += profile->thread[i].wait_s;
	*frames = (struct cpa_frames){ 0 };
	frames->frame = xcalloc(profile->components + profile->objects + 8, sizeof(*frames->frame));
	add_components(frames, profile);
	add_waits(frames, profile);
	add_other(frames, CPA_WEIGHT_WALL, "(run queue)", nanoseconds(segment[CPA_TIME_RUNQUEUE]));
	add_other(frames, CPA_WEIGHT_WALL, "(hand-off)", nanoseconds(segment[CPA_TIME_HANDOFF]));
	add_other(frames, CPA_WEIGHT_WALL, "(cpa itself)", nanoseconds(segment[CPA_TIME_PROBE]));
	add_remainder(frames, CPA_WEIGHT_PATH, "(not attributed)", program->critical_path_s);
	add_remainder(frames, CPA_WEIGHT_CPU, "(not attributed)", program->work_s);
	add_remainder(frames, CPA_WEIGHT_WALL, "(not attributed)", program->observed_path_s);
	add_remainder(frames, CPA_WEIGHT_WAIT, "(other waits)", waits_s);
}

void cpa_frames_fini(struct cpa_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++)
		free(frames->frame[i].name);
	free(frames->frame);
}
