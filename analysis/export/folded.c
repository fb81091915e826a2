/* SPDX-License-Identifier: MIT */
#include "analysis/export/folded.h"

#include <inttypes.h>

#include "analysis/export/frames.h"
#include "analysis/profile/contexts.h"

/* A semicolon would begin the next frame. Line ends are not in printable texts. */
static void put_name(const char *name, FILE *out)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name, out);
}

/* The callers of @context, the outermost first. */
static void put_callers(const struct cpa_contexts *contexts,
			const struct cpa_context_figures *context, FILE *out)
{
	const struct cpa_context_figures *caller;

	if (!context->caller)
		return;
	caller = &contexts->context[context->caller - 1];
	if (!caller->name)
		return;
	put_callers(contexts, caller, out);
	put_name(caller->name, out);
	fputc(';', out);
}

/* A line; @context is that of the frame, or NULL. */
static void put_stack(const struct cpa_profile *profile, const struct cpa_frame *frame,
		      const struct cpa_context_figures *context, uint64_t ns, FILE *out)
{
	if (!ns)
		return;
	put_name(profile->program.name, out);
	fputc(';', out);
	if (context)
		put_callers(profile->contexts, context, out);
	put_name(frame->name, out);
	fprintf(out, " %" PRIu64 "\n", ns);
}

/* Divide the time of @frame among its calling contexts: their sum is that time, up to rounding. */
static void put_frame(const struct cpa_profile *profile, const struct cpa_frame *frame, FILE *out)
{
	uint64_t rest = frame->weight_ns[CPA_WEIGHT_PATH];
	const struct cpa_context_figures *last = NULL;

	for (size_t i = 0; profile->contexts && frame->component && i < profile->contexts->count;
	     i++) {
		const struct cpa_context_figures *context = &profile->contexts->context[i];
		uint64_t part;

		if (context->component != frame->component || !(context->path_s > 0))
			continue;
		if (last) {
			part = (uint64_t)(last->path_s * 1e9);
			part = part < rest ? part : rest;
			put_stack(profile, frame, last, part, out);
			rest -= part;
		}
		last = context;
	}
	put_stack(profile, frame, last, rest, out);
}

int cpa_folded_write(const struct cpa_profile *profile, FILE *out)
{
	struct cpa_frames frames;

	cpa_frames_init(&frames, profile);
	for (size_t i = 0; i < frames.count; i++)
		put_frame(profile, &frames.frame[i], out);
	cpa_frames_fini(&frames);
	return 0;
}
