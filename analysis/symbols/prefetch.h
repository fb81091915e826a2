/* SPDX-License-Identifier: MIT */
/* analysis/symbols/prefetch.h - many names at once, by several processes */
#ifndef CPA_ANALYSIS_SYMBOLS_PREFETCH_H
#define CPA_ANALYSIS_SYMBOLS_PREFETCH_H

#include "analysis/symbols/reader.h"

/*
 * Have the @count @questions, all about modules with files, answered, and give each answer to @take,
 * which frees it. They are sorted by module: a reader has one module at a time, so that each file is
 * read once. One that dies ends the questions about its module. Where there can be no process
 * questions stay without an answer.
 */
void cpa_prefetch(struct cpa_resolver *resolver, struct cpa_symbols_question *questions,
		  size_t count,
		  void (*take)(void *context, const struct cpa_symbols_question *question,
			       struct cpa_symbols_answer *answer),
		  void *context);

#endif
