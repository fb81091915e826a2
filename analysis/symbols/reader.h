/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/reader.h - a process that reads the modules' files, with bounds on memory and time
 *
 * The files may be anything, and what reads them are libraries of others: a reader may die over one.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_READER_H
#define CPA_ANALYSIS_SYMBOLS_READER_H

#include "analysis/symbols/resolve.h"

/* All texts belong to whoever got the answer. */
struct cpa_symbols_answer {
	struct cpa_place place; /* NULL: the file does not tell */
	char *why;		/* the module's file was not read; NULL: it was */
	char *debug;		/* where its debug information is, if elsewhere */
};

void cpa_symbols_answer_fini(struct cpa_symbols_answer *answer);

struct cpa_reader {
	int pid; /* 0: none */
	int socket;
};

/* Answer in this process. */
struct cpa_symbols_answer cpa_reader_resolve(struct cpa_resolver *resolver,
					     const struct cpa_symbols_question *question);

/*
 * Begin a process that answers with what @resolver knows now. It may take one part of the machine's
 * memory of @readers + 1. False: there can be no process.
 */
bool cpa_reader_begin(struct cpa_reader *reader, struct cpa_resolver *resolver, unsigned readers);

/* End it. Return what waitpid() says of it; 0 if there was none. */
int cpa_reader_end(struct cpa_reader *reader);

/* Ask, and get the answers in the order of the questions. False: it is dead, to be ended. */
bool cpa_reader_put(const struct cpa_reader *reader, const struct cpa_symbols_question *question);
bool cpa_reader_get(const struct cpa_reader *reader, struct cpa_symbols_answer *answer);

/* The file of @module is never read again, as a reader died over it; @status: see waitpid(). */
void cpa_reader_blame(struct cpa_resolver *resolver, uint32_t module, int status);

#endif
