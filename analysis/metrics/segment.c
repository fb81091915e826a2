/* SPDX-License-Identifier: MIT */
#include "analysis/metrics/segment.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

/*
 * By half the window: the step whose peak is as high as the highest that noise of standard
 * deviation 1 makes in one of a hundred curves. tests/unit/test_segment.c measures them.
 */
static const double noise_step[] = { 0, 3.1, 2.6, 2.2, 2.1 };

size_t cpa_segment_window(size_t points)
{
	size_t window = points / 4 < CPA_SEGMENT_WINDOW ? points / 4 : CPA_SEGMENT_WINDOW;

	window -= window % 2 == 0;
	return window < 3 || window > points ? 3 : window;
}

void cpa_segment_smooth(const double *from, double *to, size_t points, size_t window)
{
	const size_t half = window / 2;

	for (size_t i = 0; i < points; i++) {
		double sum = 0, weights = 0;

		for (size_t j = i > half ? i - half : 0; j < points && j <= i + half; j++) {
			double weight = (double)(half + 1 - (j > i ? j - i : i - j));

			sum += weight * from[j];
			weights += weight;
		}
		to[i] = sum / weights;
	}
}

void cpa_segment_add(const double *curve, double *sum, size_t points)
{
	size_t next;

	for (size_t i = 1; i < points; i = next) {
		bool up = curve[i] > curve[i - 1];
		double height;

		for (next = i + 1; next < points; next++)
			if ((curve[next] > curve[next - 1]) != up)
				break;
		height = fabs(curve[next - 1] - curve[i - 1]);
		for (size_t k = i; k < next; k++)
			sum[k] += fabs(curve[k] - curve[k - 1]) * height;
	}
}

static int compare(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

double cpa_segment_noise(const double *curve, size_t points)
{
	/* The median of |d| is 0.6745 of their deviation, and that sqrt(6) of the values'. */
	const double scale = 0.6745 * sqrt(6);
	double *bend, median;

	if (points < 3)
		return 0;
	bend = xcalloc(points, sizeof(*bend));
	for (size_t i = 1; i + 1 < points; i++)
		bend[i - 1] = fabs(curve[i - 1] - 2 * curve[i] + curve[i + 1]);
	qsort(bend, points - 2, sizeof(*bend), compare);
	median = bend[(points - 2) / 2];
	free(bend);
	return median / scale;
}

/* The highest within half a window, the first of equal ones. */
static bool is_peak(const double *sum, size_t points, size_t half, size_t i)
{
	size_t from = i > half ? i - half : 1;

	for (size_t k = from; k < points && k <= i + half; k++)
		if (sum[k] > sum[i] || (k < i && sum[k] >= sum[i]))
			return false;
	return true;
}

static double height(const double *curve, size_t points)
{
	double least = curve[0], most = curve[0];

	for (size_t i = 1; i < points; i++) {
		least = fmin(least, curve[i]);
		most = fmax(most, curve[i]);
	}
	return most - least;
}

struct cpa_segments *cpa_segments_find(const struct cpa_segment_input *input)
{
	const size_t points = input->points, half = cpa_segment_window(points) / 2;
	struct cpa_segments *s = xcalloc(1, sizeof(*s));
	double *smooth = xcalloc(points + 1, sizeof(*smooth));
	double wanted = input->step > 0 ? input->step : CPA_SEGMENT_STEP, noise = 0, spread = 0;

	s->window = 2 * half + 1;
	s->boundary = xcalloc(points + 1, sizeof(*s->boundary));
	s->left_out = xcalloc(input->curves + 1, sizeof(*s->left_out));
	s->at = xcalloc(points + 1, sizeof(*s->at));
	for (size_t m = 0; m < input->curves && points >= CPA_SEGMENT_FEWEST; m++) {
		double step = noise_step[half] * cpa_segment_noise(input->curve[m], points);

		s->left_out[m] = step > wanted;
		if (s->left_out[m])
			continue;
		noise += step * step;
		cpa_segment_smooth(input->curve[m], smooth, points, s->window);
		cpa_segment_add(smooth, s->boundary, points);
		spread += pow(height(smooth, points), 2);
	}
	s->step = wanted;
	if (input->step <= 0)
		s->step = fmax(wanted, fmax(CPA_SEGMENT_SHARE * sqrt(spread), sqrt(noise)));
	/* A step of height 1 rises by the weight of the window's centre at most. */
	s->level = s->step * s->step / (double)(half + 1);
	for (size_t i = half; i + half <= points; i++)
		if (s->boundary[i] > s->level * (1 - 1e-9) && is_peak(s->boundary, points, half, i))
			s->at[s->count++] = i;
	free(smooth);
	return s;
}

void cpa_segments_free(struct cpa_segments *s)
{
	if (!s)
		return;
	free(s->boundary);
	free(s->left_out);
	free(s->at);
	free(s);
}
