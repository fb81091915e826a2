/* SPDX-License-Identifier: MIT */
/* analysis/symbols/packages.h - the Debian package that has the symbols of a file */
#ifndef CPA_ANALYSIS_SYMBOLS_PACKAGES_H
#define CPA_ANALYSIS_SYMBOLS_PACKAGES_H

/*
 * The name of the package with the debug information of the file at @path, of the package that
 * dpkg-query says it belongs to: "liblzma5-dbgsym", "libc6-dbg". NULL: it belongs to none, there is
 * no dpkg-query, or it did not answer in 2 s. The caller frees it. The first answer for a path takes some 50 ms.
 */
char *cpa_packages_debug(const char *path);

#endif
