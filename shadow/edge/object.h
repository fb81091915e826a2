/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/object.h - the life of an object's paths
 */
#ifndef CPA_SHADOW_EDGE_OBJECT_H
#define CPA_SHADOW_EDGE_OBJECT_H

#include "shadow/path/object_path.h"
#include "shadow/store/self.h"

/* Let @o, which has none, have a path. NULL: no space (counted). */
CPA_HIDDEN struct cpa_path *cpa_object_path_new(struct cpa_self *self, struct cpa_object *o);

/* Forget all paths of @o: it is initialized or destroyed, nobody else uses it. */
CPA_HIDDEN void cpa_object_clear(struct cpa_self *self, struct cpa_object *o);

#endif
