/* SPDX-License-Identifier: MIT */
/* analysis/top/top_detail.h - what the pages of single things have in common */
#ifndef CPA_ANALYSIS_TOP_TOP_DETAIL_H
#define CPA_ANALYSIS_TOP_TOP_DETAIL_H

#include "analysis/top/top_page.h"

/*
 * The pages: everything known of what is in row @i of the profile now, above @below lines of the
 * screen. top_detail.c has those of components and locks.
 */
void cpa_top_put_thread(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
			size_t below);
void cpa_top_put_queue(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
		       size_t below);
void cpa_top_put_mark(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
		      size_t below);

/* Add a line of plain text, as by printf. */
void cpa_top_say(struct cpa_top_screen *screen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The component of @slot, NULL if it is not in the profile. Kinds share the slot 0: none. */
const struct cpa_component_figures *cpa_top_component(const struct cpa_top *top, uint32_t slot,
						      enum cpa_component_kind kind);

/* What zeroing the component saves and its shares of the paths; with the savings so far as bars. */
void cpa_top_put_savings(const struct cpa_top *top, struct cpa_top_screen *screen,
			 const struct cpa_component_figures *component);

/* Bars of the @count values from the oldest to the latest, NAN: none, as parts of the largest. */
void cpa_top_put_bars(const struct cpa_top *top, struct cpa_top_screen *screen, const double *value,
		      size_t count);

/* top->trail as bars. @head: what they are; the largest value is formatted by @format. */
void cpa_top_put_trail(const struct cpa_top *top, struct cpa_top_screen *screen, const char *head,
		       char *(*format)(double value));

/* The edges of the activity graph at events of the class or the code @name, or spent in it. */
void cpa_top_put_edges(const struct cpa_top *top, struct cpa_top_screen *screen, const char *name,
		       size_t below);

#endif
