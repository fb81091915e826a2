/* SPDX-License-Identifier: MIT */
#include "analysis/profile/margins.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/student.h"

#define READINGS 8u
#define TAIL	 0.025 /* on either side of the interval */
#define NORMAL	 1.96  /* the same tail of the normal distribution, in standard deviations */

static double sum(const double *value, size_t count)
{
	double all = 0;

	for (size_t i = 0; i < count; i++)
		all += value[i];
	return all;
}

/* Half of the 95 % interval of a mean of @count values whose distances from it have the sum of squares @squares. */
static double half_interval(double squares, size_t count)
{
	return cpa_student((double)(count - 1), TAIL) *
	       sqrt(squares / (double)(count - 1) / (double)count);
}

double cpa_margin(const double *a, const double *b, size_t count)
{
	double sum_b = sum(b, count), ratio, squares = 0;

	if (count < CPA_BATCHES_LEAST || !(sum_b > 0))
		return NAN;
	ratio = sum(a, count) / sum_b;
	for (size_t i = 0; i < count; i++)
		squares += (a[i] - ratio * b[i]) * (a[i] - ratio * b[i]);
	return half_interval(squares, count) / (sum_b / (double)count);
}

double cpa_margin_between(const double *a, const double *b, const double *c, const double *d,
			  size_t count)
{
	double sum_b = sum(b, count), sum_d = sum(d, count), first, second, squares = 0;

	if (count < CPA_BATCHES_LEAST || !(sum_b > 0) || !(sum_d > 0))
		return NAN;
	first = sum(a, count) / sum_b;
	second = sum(c, count) / sum_d;
	for (size_t i = 0; i < count; i++) {
		double off = (a[i] - first * b[i]) / sum_b - (c[i] - second * d[i]) / sum_d;

		squares += off * off;
	}
	return half_interval(squares, count) * (double)count;
}

double cpa_margin_of_samples(double share, double samples)
{
	double n = samples + 4, p = (share * samples + 2) / n;

	return samples > 0 ? NORMAL * sqrt(p * (1 - p) / n) : 0;
}

size_t cpa_margin_batches(size_t samples, size_t *step)
{
	size_t differences = samples ? samples - 1 : 0;

	*step = 1;
	while (differences / *step > CPA_BATCHES_MOST)
		*step *= 2;
	return differences / *step;
}

/* Read the head of the series at @at. Return false if there is none that is whole. */
static bool read_head(struct cpa_window_series *head, const struct cpa_dump *dump, uint64_t at)
{
	return cpa_dump_bytes(dump, at, head, sizeof(*head)) && !(head->writing & 1) &&
	       head->slots == dump->header.slots && head->samples <= CPA_WINDOW_SAMPLES &&
	       head->level < 64;
}

/* Copy the samples. Return false if the series changed meanwhile. */
static bool read_once(struct cpa_batches *b, const struct cpa_dump *dump, uint64_t at)
{
	struct cpa_window_series head;
	uint64_t size, now;

	if (!read_head(&head, dump, at))
		return false;
	b->windows = head.windows;
	b->gaps = head.gaps;
	b->slots = head.slots;
	b->samples = head.samples;
	b->length = cpa_window_length(head.slots);
	size = b->samples * b->length * sizeof(*b->value);
	free(b->value);
	b->value = xcalloc(b->samples * b->length + 1, sizeof(*b->value));
	atomic_signal_fence(memory_order_seq_cst); /* x86 keeps loads in order */
	if (!cpa_dump_bytes(dump, at + sizeof(head), b->value, size))
		return false;
	atomic_signal_fence(memory_order_seq_cst);
	return cpa_dump_bytes(dump, at, &now, sizeof(now)) && now == head.writing;
}

bool cpa_batches_read(struct cpa_batches *b, const struct cpa_dump *dump)
{
	uint64_t at = dump->header.windows;
	unsigned readings = 0;

	*b = (struct cpa_batches){ 0 };
	if (!at)
		return false;
	while (!read_once(b, dump, at))
		if (++readings == READINGS)
			return false;
	b->count = cpa_margin_batches(b->samples, &b->step);
	b->path = xcalloc(4 * (b->count + 1), sizeof(*b->path));
	b->on = b->path + b->count + 1;
	b->part = b->on + b->count + 1;
	b->other = b->part + b->count + 1;
	cpa_batches_take(b, CPA_WINDOW_LEN, b->path);
	cpa_batches_take(b, CPA_WINDOW_ON, b->on);
	return true;
}

void cpa_batches_free(struct cpa_batches *b)
{
	free(b->value);
	free(b->path);
}

void cpa_batches_add(const struct cpa_batches *b, size_t place, double *batch)
{
	for (size_t i = 0; i < b->count; i++) {
		const uint64_t *from = b->value + i * b->step * b->length + place;

		batch[i] += (double)from[b->step * b->length] - (double)from[0];
	}
}

void cpa_batches_clear(const struct cpa_batches *b, double *batch)
{
	memset(batch, 0, b->count * sizeof(*batch));
}

void cpa_batches_take(const struct cpa_batches *b, size_t place, double *batch)
{
	cpa_batches_clear(b, batch);
	cpa_batches_add(b, place, batch);
}

size_t cpa_batches_first(const struct cpa_batches *b, uint64_t len)
{
	size_t i = 0;

	while (i < b->count && b->value[i * b->step * b->length + CPA_WINDOW_LEN] < len)
		i++;
	return i;
}

double cpa_batches_margin(const struct cpa_batches *b, const double *part, const double *whole,
			  size_t first)
{
	for (size_t i = first; i < b->count; i++)
		if (part[i] != 0)
			return cpa_margin(part + first, whole + first, b->count - first);
	return NAN;
}

double cpa_batches_count_margin(const struct cpa_batches *b, const double *part,
				const double *whole)
{
	for (size_t i = 0; i < b->count; i++)
		if (part[i] < 0 || whole[i] < 0)
			return NAN;
	return cpa_batches_margin(b, part, whole, 0);
}
