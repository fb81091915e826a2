/* SPDX-License-Identifier: MIT */
/*
 * analysis/render/streams_text.h - text for pipes and sockets
 */
#ifndef CPA_ANALYSIS_RENDER_STREAMS_TEXT_H
#define CPA_ANALYSIS_RENDER_STREAMS_TEXT_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

/*
 * Who waits for whom; and how much, and how long it takes. Nothing if no stream has two known ends.
 */
void cpa_text_streams(const struct cpa_page *page, const struct cpa_profile *profile, size_t top);
void cpa_text_traffic(const struct cpa_page *page, const struct cpa_profile *profile, size_t top);

#endif
