/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_module.h - a part of shadow/format/layout.h: names, addresses and the modules that they
 * lie in
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_MODULE_H
#define CPA_SHADOW_FORMAT_LAYOUT_MODULE_H

#include <stdint.h>

/* key: a hash of the text. A text the program gave: a region, a queue, a mark. */
struct cpa_name {
	uint64_t key;
	char text[CPA_NAME_SIZE]; /* NUL-terminated, cut on the right if longer */
};

/* key: {0:8, layer:8, address:48}. A return address: the call is in front of it. */
struct cpa_site {
	uint64_t key;
	uint32_t module;
	uint32_t pad;
};

#define CPA_ADDRESS_MASK ((UINT64_C(1) << 48) - 1)
#define CPA_LAYERS	 255u

/* Why what a library locks was not seen. */
enum cpa_module_unseen { CPA_SEEN = 0, CPA_UNSEEN_DEEPBIND = 1, CPA_UNSEEN_NAMESPACE = 2 };

/*
 * key: mixed from start and name. Written by its creator. Those not seen have no addresses; more
 * than that they were to be loaded so is not known.
 */
struct cpa_module {
	uint64_t key;
	uint64_t start, end; /* the addresses mapped */
	uint64_t bias;	     /* run-time address minus address in the file (l_addr) */
	uint8_t build_id[32];
	uint32_t build_id_size;
	uint32_t unseen; /* enum cpa_module_unseen */
	char path[256];	 /* NUL-terminated, cut on the left if longer */
	/*
	 * Of modules that were at the same addresses one after the other each has a layer of its
	 * own, so that what they have there are different things; the last layer is all others'.
	 */
	uint32_t layer;
	uint32_t variables; /* 1: classes lie in it; of no meaning to readers */
};

#endif
