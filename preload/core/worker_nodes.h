/* SPDX-License-Identifier: MIT */
/*
 * preload/core/worker_nodes.h - a thread's cache of PAG nodes
 *
 * Only the thread reads and writes it: preload/core/track.[ch]. preload/core/object.c empties it
 * after a dlclose(), because another library may then be at the addresses in it.
 */
#ifndef CPA_PRELOAD_CORE_WORKER_NODES_H
#define CPA_PRELOAD_CORE_WORKER_NODES_H

#include <stdint.h>

#define CPA_NODE_CACHE 128u
#define CPA_NODE_WAYS  8u /* places in which a node may be: those of its set */

struct cpa_worker_nodes {
	struct cpa_node_place {
		uint64_t caller; /* return address in the program */
		uint32_t event;	 /* {kind:8, class:24}; 0: unused */
		uint32_t row;	 /* of the node */
		unsigned edge;	 /* edge that led to it the last time: see cpa_activity_run() */
	} places[CPA_NODE_CACHE];
	uint32_t turn; /* next place to give up in a full set, modulo CPA_NODE_WAYS */
};

#endif
