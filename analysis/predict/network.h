/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/network.h - other costs of messages, as said on the command line
 *
 *	latency=TIME bandwidth=BYTES	of all streams: a message is under way for TIME (ns, us, ms,
 *					s), and its bytes as long as BYTES a second (K, M, G) need, one
 *					message of a stream after the other, in addition to the recorded time
 *	KIND:NAME=FACTOR		FACTOR times as long; KIND: pipe, unix, tcp, udp, eventfd, *; NAME:
 *					"writer -> reader", with * and ? for any characters
 */
#ifndef CPA_ANALYSIS_PREDICT_NETWORK_H
#define CPA_ANALYSIS_PREDICT_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "shadow/format/layout.h"

/* One KIND:NAME=FACTOR. */
struct cpa_network_factor {
	unsigned kinds; /* bits 1 << enum cpa_stream_kind */
	char *name;
	double factor;
};

/* All zeros at first. Owns its factors and their names. */
struct cpa_network {
	bool asked;			   /* something was added */
	double latency_s, second_per_byte; /* of all streams; 0: not said */
	size_t factors;
	struct cpa_network_factor *factor;
};

/*
 * Add what @text says; a later latency or bandwidth takes an earlier one's place. Return NULL, or
 * the error in static storage.
 */
const char *cpa_network_add(struct cpa_network *network, const char *text);
void cpa_network_fini(struct cpa_network *network);

#endif
