/* SPDX-License-Identifier: MIT */
/* analysis/symbols/demangle.h - names as the programmer wrote them, from those of a linker */
#ifndef CPA_ANALYSIS_SYMBOLS_DEMANGLE_H
#define CPA_ANALYSIS_SYMBOLS_DEMANGLE_H

/*
 * The printable name of @symbol, of C++, Rust, D or Fortran, which the caller frees. @location is
 * where its code comes from, "/src/solver.f90:12": only of a file of Fortran the '_' behind a name
 * is the compiler's. NULL: not known.
 */
char *cpa_demangle(const char *symbol, const char *location);

#endif
