/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/sanitizer.h - find the sanitizer library that a program is linked with
 *
 * It must be loaded before all other libraries: otherwise AddressSanitizer ends the program, and
 * ThreadSanitizer misses releases of locks. libcpa.so is placed after it and sees the program's
 * calls there.
 */
#ifndef CPA_ANALYSIS_LAUNCH_SANITIZER_H
#define CPA_ANALYSIS_LAUNCH_SANITIZER_H

#include <stddef.h>

/* Write its name (DT_NEEDED) to @name; "" if @image needs none or cannot be read. */
void cpa_sanitizer_of(const char *image, char *name, size_t size);

#endif
