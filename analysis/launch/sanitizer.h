/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/sanitizer.h - the sanitizer's library that a program is linked with
 *
 * It wants to be in front of all others: AddressSanitizer ends a program where it is not, and
 * ThreadSanitizer sees locks taken that it did not see released. Behind it we see what it does.
 */
#ifndef CPA_ANALYSIS_LAUNCH_SANITIZER_H
#define CPA_ANALYSIS_LAUNCH_SANITIZER_H

#include <stddef.h>

/* Put its name (DT_NEEDED) into @name, "" if @image needs none or cannot be read. */
void cpa_sanitizer_of(const char *image, char *name, size_t size);

#endif
