/* SPDX-License-Identifier: MIT */
/*
 * analysis/top/top_screen.h - the terminal of cpa top: draw lines, read keys, restore it at the end
 */
#ifndef CPA_ANALYSIS_TOP_TOP_SCREEN_H
#define CPA_ANALYSIS_TOP_TOP_SCREEN_H

#include "analysis/top/top.h"

/* Take over the terminal. Return 0; or -1 with *@error the message, which is in static storage. */
int cpa_screen_begin(const char **error);
void cpa_screen_end(void);

/* Whether the terminal shows ASCII characters only. */
bool cpa_screen_ascii(void);

void cpa_screen_size(size_t *columns, size_t *lines);
void cpa_screen_show(const struct cpa_top_screen *screen);

/*
 * Wait up to @timeout_s seconds for a key; for ever if negative. Return the key for
 * cpa_top_press(); 0: no key, or the screen size changed; -1: a signal asks the program to end.
 */
int cpa_screen_key(double timeout_s);

/* The signal that asked the program to end; 0: none. */
int cpa_screen_signal(void);

#endif
