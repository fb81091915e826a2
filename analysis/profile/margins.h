/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/margins.h - how sure the figures of a run are of which windows were profiled
 *
 * The windows of a budget are a sample of the run. Their sums (shadow/format/layout_windows.h) make
 * batches: as many windows, neighbours, each, so that what neighbours have in common is in one
 * batch and not in the difference of two. A share is a ratio of sums, of which the windows have
 * different amounts; its variance is that of the ratio estimator: with a and b the batches' sums, R
 * their ratio,
 *
 *   var(R) = sum (a - R b)^2 / (n - 1) / n / mean(b)^2
 *
 * and the interval is R +- t sqrt(var(R)), with the quantile t of n - 1 degrees of freedom.
 * (Cochran, Sampling Techniques, 6.4; batch means: Schmeiser, Operations Research 1982: 10 to 30 of
 * them.)
 *
 * Functions have an error of their own, which batches do not show: samples of a few windows tell how the
 * activities of all later ones are divided (shadow/graph/mix.h). Of n samples the share p of a function has the
 * variance p (1 - p) / n. The interval is that of Agresti and Coull (The American Statistician, 1998), which
 * holds for rare functions, too: with two more samples of the function, and two of others.
 *
 * margin_rows.c applies this to the figures of a profile.
 */
#ifndef CPA_ANALYSIS_PROFILE_MARGINS_H
#define CPA_ANALYSIS_PROFILE_MARGINS_H

#include "analysis/input/load.h"

#define CPA_BATCHES_LEAST 10u /* with fewer there is no interval */
#define CPA_BATCHES_MOST  31u

/*
 * Half of the 95 % interval of sum(@a) / sum(@b), of @count batches. NAN: too few, or the sum of @b
 * is not above 0.
 */
double cpa_margin(const double *a, const double *b, size_t count);

/*
 * The same of the difference sum(@a) / sum(@b) - sum(@c) / sum(@d). A batch has a part in both, so the variance is that of
 * the differences (Cochran, 6.5).
 */
double cpa_margin_between(const double *a, const double *b, const double *c, const double *d,
			  size_t count);

/* Half of the 95 % interval of the @share that a function has of @samples. 0: no samples. */
double cpa_margin_of_samples(double share, double samples);

/* How many batches @samples of the series make, each of *@step differences of two samples. */
size_t cpa_margin_batches(size_t samples, size_t *step);

/* The samples of a session, and their batches. */
struct cpa_batches {
	uint64_t windows; /* begun so far */
	uint64_t gaps;	  /* of these windows: struct cpa_window_series */
	uint32_t slots;
	size_t samples, length; /* their number, and values of one */
	uint64_t *value;
	size_t count, step;
	double *path,
		*on; /* [count]: the length of the path, and for how long profiling was on; ticks */
	double *part, *other; /* [count]: for the caller */
};

/*
 * Read the series of @dump. Return false if there is none that is whole. The caller frees the
 * batches in either case.
 */
bool cpa_batches_read(struct cpa_batches *b, const struct cpa_dump *dump);
void cpa_batches_free(struct cpa_batches *b);

/*
 * Add to @batch [count] what each batch has of the value at @place of the samples, which only
 * grows.
 */
void cpa_batches_add(const struct cpa_batches *b, size_t place, double *batch);
/* The same with @batch empty before. */
void cpa_batches_take(const struct cpa_batches *b, size_t place, double *batch);
void cpa_batches_clear(const struct cpa_batches *b, double *batch);

/* The first batch that began when the path had a length of @len or more. */
size_t cpa_batches_first(const struct cpa_batches *b, uint64_t len);

/*
 * cpa_margin() of the batches from @first on, but NAN also if none of them has any of @part: that
 * may be rare.
 */
double cpa_batches_margin(const struct cpa_batches *b, const double *part, const double *whole,
			  size_t first);

/* The same of counters, of all batches. One that was read while it changed shrinks: NAN. */
double cpa_batches_count_margin(const struct cpa_batches *b, const double *part,
				const double *whole);

struct cpa_profile;

/* No margin of the rows and of the program is known. */
void cpa_margins_clear(struct cpa_profile *profile);

#endif
