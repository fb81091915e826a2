/* SPDX-License-Identifier: MIT */
/* shadow/edge/object.h - creation and removal of an object's paths */
#ifndef CPA_SHADOW_EDGE_OBJECT_H
#define CPA_SHADOW_EDGE_OBJECT_H

#include "shadow/path/object_path.h"
#include "shadow/store/self.h"

/* Allocate a path for @o, which has none. NULL: no space (counted). */
CPA_HIDDEN struct cpa_path *cpa_object_path_new(struct cpa_self *self, struct cpa_object *o);

/*
 * Remove all paths of @o, which is being initialized or destroyed and which no other thread uses.
 */
CPA_HIDDEN void cpa_object_clear(struct cpa_self *self, struct cpa_object *o);

#endif
