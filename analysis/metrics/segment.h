/* SPDX-License-Identifier: MIT */
/*
 * analysis/metrics/segment.h - where curves change together: Phase Behavior Analysis (IPS-2, V.B)
 *
 * Smoothing: a sliding average that weighs the centre most. Segmenting: the boundary curve of a
 * metric is the height of the monotone run that a point lies in times its slope there. Combining:
 * the boundary curves are added; a boundary is a peak of the sum above a threshold. What IPS-2
 * leaves to its user: a peak is the highest point within half a window, as nothing nearer can be
 * told apart after smoothing; so no phase is shorter, nor at the ends of the run; and the
 * threshold.
 *
 * The threshold is told as the height of a step: one metric that jumps by this much of its range
 * gives a peak as high. It is the largest of CPA_SEGMENT_STEP; of CPA_SEGMENT_SHARE of how far the
 * smooth curves go in all, as steps add up (by their squares): most must change, not a few; and of
 * the step that the curves' noise, by their second differences, would seem to be in one of a
 * hundred runs. A curve whose noise alone is more than CPA_SEGMENT_STEP is left out.
 */
#ifndef CPA_ANALYSIS_METRICS_SEGMENT_H
#define CPA_ANALYSIS_METRICS_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>

#define CPA_SEGMENT_WINDOW 9u /* points (IPS-2); a quarter of them all if these are fewer than 36 */
#define CPA_SEGMENT_FEWEST 8u /* points: of fewer nothing is said */
#define CPA_SEGMENT_STEP   0.3
#define CPA_SEGMENT_SHARE  0.4

/* Curves of mean values in @points intervals of one length, each in units of its range. */
struct cpa_segment_input {
	size_t points, curves;
	const double *const *curve; /* [curves][points] */
	double step;		    /* the threshold; 0: find one */
};

struct cpa_segments {
	size_t window;
	double step;	  /* the threshold, as the height of a step */
	double level;	  /* of the boundary curve, at that */
	double *boundary; /* [points]: the sum; i is the border between points i - 1 and i */
	bool *left_out;	  /* [curves] */
	size_t count;	  /* of boundaries */
	size_t *at;	  /* [count]: the first points behind them, ascending */
};

struct cpa_segments *cpa_segments_find(const struct cpa_segment_input *input);
void cpa_segments_free(struct cpa_segments *segments);

/* The odd width of the window for @points points. */
size_t cpa_segment_window(size_t points);

/*
 * Smooth @from to @to, both [points], with a triangle @window wide; cut, not filled, at the ends.
 */
void cpa_segment_smooth(const double *from, double *to, size_t points, size_t window);

/* Add the boundary curve of @curve, which is smooth, to @sum; both [points]. */
void cpa_segment_add(const double *curve, double *sum, size_t points);

/* The standard deviation of what @curve has from one point to the next besides its course. */
double cpa_segment_noise(const double *curve, size_t points);

#endif
