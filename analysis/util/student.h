/* SPDX-License-Identifier: MIT */
/* analysis/util/student.h - quantiles of the t distribution */
#ifndef CPA_ANALYSIS_UTIL_STUDENT_H
#define CPA_ANALYSIS_UTIL_STUDENT_H

/* The point that a t distribution with @freedom degrees exceeds with probability @tail. */
double cpa_student(double freedom, double tail);

#endif
