/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/stdio.h - reads and writes of stdio, which calls neither read() nor write() by name
 */
#ifndef CPA_PRELOAD_STREAM_STDIO_H
#define CPA_PRELOAD_STREAM_STDIO_H

#include <stdio.h>
#include <sys/types.h>

#include "shadow/store/session.h"

/* A function of stdio that moves @n bytes. Returns the bytes moved; fewer than @n: the end, or an error. */
typedef ssize_t cpa_file_io(FILE *file, void *bytes, ssize_t n);

/* See stdio files from now on. At start, before there is a second thread. */
CPA_HIDDEN void cpa_stdio_begin(void);

/*
 * The process is about to end by exit(). What is left in the buffer of standard output is written later,
 * when the profile has ended: it counts as written now. errno is kept.
 */
CPA_HIDDEN void cpa_stdio_end(void);

/*
 * In preload/sync/external.c, beside the wrappers of read() and write(): call @original, which reads from
 * the descriptor of @file, or writes to it. errno is as @original leaves it.
 */
CPA_HIDDEN ssize_t cpa_external_read(cpa_file_io *original, FILE *file, void *to, ssize_t n);
CPA_HIDDEN ssize_t cpa_external_write(cpa_file_io *original, FILE *file, void *from, ssize_t n);

#endif
