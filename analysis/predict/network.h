/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/network.h - other costs of messages, as said on the command line
 *
 *	latency=TIME bandwidth=BYTES	of all streams: a message is under way for TIME (ns, us, ms,
 *					s), and its bytes as long as BYTES a second (K, M, G) need,
 *					in addition to the recorded time
 *	KIND:NAME=FACTOR		FACTOR times as long; KIND: pipe, unix, tcp, udp, eventfd, *; NAME:
 *					"writer -> reader", with * and ? for any characters
 */
#ifndef CPA_ANALYSIS_PREDICT_NETWORK_H
#define CPA_ANALYSIS_PREDICT_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include "shadow/format/layout.h"

struct cpa_network_factor {
	unsigned kinds; /* bits 1 << enum cpa_stream_kind */
	char *name;
	double factor;
};

struct cpa_network {
	bool asked;
	double latency_s, second_per_byte;
	size_t factors;
	struct cpa_network_factor *factor;
};

/* Add what @text says. Return NULL, or the error in static storage. */
const char *cpa_network_add(struct cpa_network *network, const char *text);
void cpa_network_fini(struct cpa_network *network);

#endif
