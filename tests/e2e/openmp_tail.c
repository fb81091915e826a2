/* SPDX-License-Identifier: MIT */
/* tests/e2e/openmp_tail.c - regions that are the last thing in their functions, which jump to the runtime at -O2 */
#define N 100000

static double a[N];

static __attribute__((noinline)) void halve(void)
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < N; i++)
		a[i] = a[i] * 0.5 + 1;
}

static __attribute__((noinline)) void square(void)
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < N; i++)
		a[i] = a[i] * a[i] - 1;
}

/* Not the last thing: it is called. */
static __attribute__((noinline)) int clear(void)
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < N; i++)
		a[i] = 0;
	return a[0] > 0;
}

int main(void)
{
	halve();
	square();
	halve();
	return clear();
}
