/* SPDX-License-Identifier: MIT */
#include "analysis/util/student.h"

#include <math.h>

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), value = d;

	for (int i = 1; i < 1000; i++) {
		double even = i * (b - i) * x / ((a + 2 * i - 1) * (a + 2 * i));
		double odd = -(a + i) * (a + b + i) * x / ((a + 2 * i) * (a + 2 * i + 1));
		double step;

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		value *= d * c;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		step = d * c;
		value *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return value;
}

/* The regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double cpa_student(double freedom, double tail)
{
	double low = 0, high = 1e9;

	/*
	 * The probability beyond t is half of beta(freedom / 2, 1 / 2) at freedom / (freedom +
	 * t^2).
	 */
	for (int i = 0; i < 200; i++) {
		double t = (low + high) / 2;

		if (beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2 > tail)
			low = t;
		else
			high = t;
	}
	return high;
}
