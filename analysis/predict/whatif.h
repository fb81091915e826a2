/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/whatif.h - changes to a program, as said on the command line
 *
 *	KIND:NAME=FACTOR	its time times FACTOR, 0 to 100; KIND: function, lock, region,
 *				thread, queue (the processing of its items), external
 *	lock:NAME=drop		it excludes nobody
 *	lock:NAME=split:N	N locks in its place, of which each use takes any one
 *	queue:NAME workers=N	N threads get its items
 *	region:NAME=balance	each thread of the parallel region (OpenMP) has the mean work of them
 *				between two barriers
 *	region:NAME threads=N	N threads have that work, each as much
 *	loop:NAME=dynamic	each chunk of the loop goes to the thread of the team that is free first.
 *				NAME: of the parallel region, or a place as in loop.c:21
 *	stream:NAME=FACTOR	its messages take FACTOR times as long; NAME: "writer -> reader".
 *				0: no writer waits for room in it, either
 *
 * NAME may have * and ? for any characters.
 */
#ifndef CPA_ANALYSIS_PREDICT_WHATIF_H
#define CPA_ANALYSIS_PREDICT_WHATIF_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

#define CPA_CHANGE_FACTOR_MAX 100
#define CPA_CHANGE_NUMBER_MAX 4096

enum cpa_change_kind {
	CPA_CHANGE_SCALE,
	CPA_CHANGE_DROP,
	CPA_CHANGE_SPLIT,
	CPA_CHANGE_WORKERS,
	CPA_CHANGE_BALANCE, /* also with another number of threads */
	CPA_CHANGE_DYNAMIC,
	CPA_CHANGE_TRANSFER,
};

struct cpa_change {
	enum cpa_change_kind kind;
	enum cpa_component_kind of; /* not of a stream */
	char *name;
	double factor;
	uint32_t number; /* of locks, workers, or threads; 0: as many as in the run */
};

/*
 * Parse @text. Return 0, and the caller frees change->name; or -1 with *@error the message, in
 * static storage.
 */
int cpa_change_parse(struct cpa_change *change, const char *text, const char **error);

/* Parse a factor: a plain decimal number, without sign, exponent, or strtod()'s words. */
bool cpa_change_factor(const char *text, double *factor);

#endif
