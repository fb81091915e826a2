/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/reader.h - a process that reads modules' files, limited in memory and time
 *
 * The files may be damaged or hostile, and are parsed by third-party libraries: a reader may die
 * over one.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_READER_H
#define CPA_ANALYSIS_SYMBOLS_READER_H

#include "analysis/symbols/resolve.h"

/* All texts belong to the receiver of the answer. */
struct cpa_symbols_answer {
	struct cpa_place place; /* texts are NULL if the file has none */
	char *why;		/* why the module's file was not read; NULL: it was */
	char *debug;		/* the separate debug file, or NULL */
};

void cpa_symbols_answer_fini(struct cpa_symbols_answer *answer);

struct cpa_reader {
	int pid; /* 0: no process */
	int socket;
};

/* Answer a question in this process. */
struct cpa_symbols_answer cpa_reader_resolve(struct cpa_resolver *resolver,
					     const struct cpa_symbols_question *question);

/*
 * Start a process that answers with the present state of @resolver. Its memory is limited to
 * 1/(@readers + 1) of the machine's. Return false if no process can be started.
 */
bool cpa_reader_begin(struct cpa_reader *reader, struct cpa_resolver *resolver, unsigned readers);

/* End the process. Return its wait status; 0 if there was none. */
int cpa_reader_end(struct cpa_reader *reader);

/*
 * Send a question, receive an answer; answers come in the order of the questions. Return false if
 * the process died; then call cpa_reader_end().
 */
bool cpa_reader_put(const struct cpa_reader *reader, const struct cpa_symbols_question *question);
bool cpa_reader_get(const struct cpa_reader *reader, struct cpa_symbols_answer *answer);

/* Never read the file of @module again, because a reader died over it. @status: its wait status. */
void cpa_reader_blame(struct cpa_resolver *resolver, uint32_t module, int status);

#endif
