/* SPDX-License-Identifier: MIT */
/*
 * analysis/page/html.h - a profile as one page for a browser
 *
 * The page is one file that needs no network. Its text and its script are those of analysis/page/,
 * put into the program when it is built (scripts/embed-page.sh); between them stands the profile as
 * JSON. All names in it may be hostile: no byte of them can end the element that holds the JSON,
 * and the script shows them as text only.
 */
#ifndef CPA_ANALYSIS_PAGE_HTML_H
#define CPA_ANALYSIS_PAGE_HTML_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/profile/profile.h"
#include "analysis/util/bytes.h"

/*
 * Write the page of @profile to @out. @dump: of the profile, for what only a journal holds; NULL:
 * without that. @core: [@cores], the numbers of cores on which to replay a journal; none: choose,
 * or none if the journal is long. Return 0, or -1 with errno set if it could not be written.
 */
int cpa_html_write(struct cpa_dump *dump, const struct cpa_profile *profile, const uint32_t *core,
		   size_t cores, FILE *out);

/*
 * Write the page of @data, whose key "report" or "comparison" says what it shows. @events: as
 * html_lanes.h has them; NULL: none. Return 0, or -1 with errno set if it could not be written.
 */
int cpa_html_put(const json_t *data, const struct cpa_bytes *events, FILE *out);

#endif
