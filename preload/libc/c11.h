/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/c11.h - results of C11 threads as those of their pthread kin
 */
#ifndef CPA_PRELOAD_LIBC_C11_H
#define CPA_PRELOAD_LIBC_C11_H

#include <errno.h>
#include <threads.h>

/* @ret, a thrd_* result, as an error number; an error without a kin is EINVAL. */
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
