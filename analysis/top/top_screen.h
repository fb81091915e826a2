/* SPDX-License-Identifier: MIT */
/* analysis/top/top_screen.h - the terminal of cpa top: lines out, keys in, and all as it was after */
#ifndef CPA_ANALYSIS_TOP_TOP_SCREEN_H
#define CPA_ANALYSIS_TOP_TOP_SCREEN_H

#include "analysis/top/top.h"

/* Take the terminal. Return 0; or -1 with *@error the message, which is not to be freed. */
int cpa_screen_begin(const char **error);
void cpa_screen_end(void);

/* No other characters than those of ASCII can be shown. */
bool cpa_screen_ascii(void);

void cpa_screen_size(size_t *columns, size_t *lines);
void cpa_screen_show(const struct cpa_top_screen *screen);

/*
 * Wait up to @timeout_s seconds, for ever if it is below 0. Return a key as cpa_top_press() wants
 * it; 0: none, or the screen has another size now; -1: a signal asks us to end.
 */
int cpa_screen_key(double timeout_s);

/* The signal, 0: none came. */
int cpa_screen_signal(void);

#endif
