/* SPDX-License-Identifier: MIT */
/* analysis/symbols/prefetch.h - look up many names by several processes at once */
#ifndef CPA_ANALYSIS_SYMBOLS_PREFETCH_H
#define CPA_ANALYSIS_SYMBOLS_PREFETCH_H

#include "analysis/symbols/reader.h"

/*
 * Have @count @questions answered, all about modules with files, and call @take with each answer,
 * which it frees. Questions are sorted by module, and a reader has one module at a time, so that
 * each file is read once. If a reader dies, the rest of its module's questions get no answer; so do
 * all questions if no process can be started.
 */
void cpa_prefetch(struct cpa_resolver *resolver, struct cpa_symbols_question *questions,
		  size_t count,
		  void (*take)(void *context, const struct cpa_symbols_question *question,
			       struct cpa_symbols_answer *answer),
		  void *context);

#endif
