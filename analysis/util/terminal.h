/* SPDX-License-Identifier: MIT */
/* analysis/util/terminal.h - width and colours of standard output */
#ifndef CPA_ANALYSIS_UTIL_TERMINAL_H
#define CPA_ANALYSIS_UTIL_TERMINAL_H

#include "analysis/util/table.h"

#define CPA_WIDTH_MIN 72
#define CPA_WIDTH_MAX 1000

enum cpa_color { CPA_COLOR_AUTO, CPA_COLOR_ALWAYS, CPA_COLOR_NEVER, CPA_COLORS };

/* "auto", "always", "never"; CPA_COLORS for another word. */
enum cpa_color cpa_color_of(const char *word);

/*
 * A page on standard output. @width: its columns; 0: those of the terminal, else 80. Sets the
 * locale of characters.
 */
struct cpa_page cpa_terminal_page(enum cpa_color color, size_t width);

#endif
