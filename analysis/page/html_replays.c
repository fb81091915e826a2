/* SPDX-License-Identifier: MIT */
/* analysis/page/html_replays.c - predicted run times, for the sliders of the page */
#include "analysis/page/html_replays.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/predict/predict.h"

json_t *cpa_html_replays(struct cpa_dump *dump, const struct cpa_profile *profile,
			 const uint32_t *core, size_t cores)
{
	uint32_t own = profile->program.cores;
	const uint32_t usual[] = { own / 2, own, 2 * own, 4 * own };
	json_t *array = json_array();

	if (!cores) {
		core = usual;
		cores = ARRAY_SIZE(usual);
	}
	for (size_t i = 0; i < cores; i++) {
		uint32_t one = core[i];
		const struct cpa_question question = { .cores = 1, .core = &one, .curves = true };
		struct cpa_answer answer;
		char *error;

		if (!one)
			continue;
		if (cpa_predict(dump, profile, &question, &answer, &error) != CPA_ANSWERED) {
			free(error);
			continue;
		}
		json_array_append_new(array, cpa_answer_json(&answer));
		cpa_answer_free(&answer);
	}
	return array;
}
