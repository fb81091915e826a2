/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_module.h - names, addresses and their modules; part of
 * shadow/format/layout.h
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_MODULE_H
#define CPA_SHADOW_FORMAT_LAYOUT_MODULE_H

#include <stdint.h>

/* A text from the program: the name of a region, queue or mark. key: a hash of the text. */
struct cpa_name {
	uint64_t key;
	char text[CPA_NAME_SIZE]; /* NUL-terminated, cut on the right if longer */
};

/*
 * A return address, just behind the call. key: {0:8, layer:8, address:48}. Or of a stack: with
 * CPA_SITE_FUNCTION in the key, where a function begins; with CPA_SITE_CALL the last byte of a call that the
 * function of site row `function` makes.
 */
struct cpa_site {
	uint64_t key;
	uint32_t module;
	uint32_t function;
};

#define CPA_SITE_FUNCTION (UINT64_C(1) << 56)
#define CPA_SITE_CALL	  (UINT64_C(1) << 57)

#define CPA_ADDRESS_MASK ((UINT64_C(1) << 48) - 1)
#define CPA_LAYERS	 255u

/* Why cpa did not see the locks that a library uses. */
enum cpa_module_unseen { CPA_SEEN = 0, CPA_UNSEEN_DEEPBIND = 1, CPA_UNSEEN_NAMESPACE = 2 };

/*
 * key: mixed from size, path and build id. Written by the creating thread. A file has one row, with the
 * addresses of the process that met it first: other processes, and that one when it loads the file
 * elsewhere, translate to them. A module not seen has no addresses; cpa knows only that it was about to be
 * loaded.
 */
struct cpa_module {
	uint64_t key;
	uint64_t start, end; /* range of mapped addresses */
	uint64_t bias;	     /* run-time address minus address in the file (l_addr) */
	uint8_t build_id[32];
	uint32_t build_id_size;
	uint32_t unseen; /* enum cpa_module_unseen */
	char path[256];	 /* NUL-terminated, cut on the left if longer */
	/*
	 * Modules at the same addresses, one after another or in different processes, have different
	 * layers, so that their addresses name different things. All modules beyond the last layer share it.
	 */
	uint32_t layer;
	uint32_t unused; /* 0 */
};

#endif
