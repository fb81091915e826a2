/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/c11.h - C11 thread results as error numbers
 */
#ifndef CPA_PRELOAD_LIBC_C11_H
#define CPA_PRELOAD_LIBC_C11_H

#include <errno.h>
#include <threads.h>

/* @ret, a thrd_* result, as an error number; an error without an equivalent is EINVAL. */
static inline int cpa_c11_posix(int ret)
{
	switch (ret) {
	case thrd_success:
		return 0;
	case thrd_timedout:
		return ETIMEDOUT;
	case thrd_busy:
		return EBUSY;
	default:
		return EINVAL;
	}
}

#endif
