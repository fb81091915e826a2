/* SPDX-License-Identifier: MIT */
#include "analysis/export/folded.h"

#include <inttypes.h>

#include "analysis/export/frames.h"

/* A semicolon would begin the next frame. Line ends are not in printable texts. */
static void put_name(const char *name, FILE *out)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name, out);
}

int cpa_folded_write(const struct cpa_profile *profile, FILE *out)
{
	struct cpa_frames frames;

	cpa_frames_init(&frames, profile);
	for (size_t i = 0; i < frames.count; i++) {
		uint64_t ns = frames.frame[i].weight_ns[CPA_WEIGHT_PATH];

		if (!ns)
			continue;
		put_name(profile->program.name, out);
		fputc(';', out);
		put_name(frames.frame[i].name, out);
		fprintf(out, " %" PRIu64 "\n", ns);
	}
	cpa_frames_fini(&frames);
	return 0;
}
