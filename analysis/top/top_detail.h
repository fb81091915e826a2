/* SPDX-License-Identifier: MIT */
/* analysis/top/top_detail.h - parts shared by the details pages */
#ifndef CPA_ANALYSIS_TOP_TOP_DETAIL_H
#define CPA_ANALYSIS_TOP_TOP_DETAIL_H

#include "analysis/top/top_page.h"

/*
 * Write the details of row @i of the present profile, leaving the last @below lines of the screen
 * free. The pages of components and locks are in top_detail.c.
 */
void cpa_top_put_thread(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
			size_t below);
void cpa_top_put_queue(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
		       size_t below);
void cpa_top_put_stream(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
			size_t below);
void cpa_top_put_mark(const struct cpa_top *top, struct cpa_top_screen *screen, size_t i,
		      size_t below);

/* Add a line of plain text; arguments as printf(). */
void cpa_top_say(struct cpa_top_screen *screen, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The component with @slot; NULL: not in the profile, or slot 0, which many components share. */
const struct cpa_component_figures *cpa_top_component(const struct cpa_top *top, uint32_t slot,
						      enum cpa_component_kind kind);

/* Write the component's saving and its shares of the paths, with the savings so far as bars. */
void cpa_top_put_savings(const struct cpa_top *top, struct cpa_top_screen *screen,
			 const struct cpa_component_figures *component);

/* Draw @count values, oldest first, as bars relative to the largest; NAN: no bar. */
void cpa_top_put_bars(const struct cpa_top *top, struct cpa_top_screen *screen, const double *value,
		      size_t count);

/* Draw top->trail as bars. @head: its title; @format: formats the largest value. */
void cpa_top_put_trail(const struct cpa_top *top, struct cpa_top_screen *screen, const char *head,
		       char *(*format)(double value));

/* Write the edges of the activity graph at events of class or code @name, or spent in it. */
void cpa_top_put_edges(const struct cpa_top *top, struct cpa_top_screen *screen, const char *name,
		       size_t below);

#endif
