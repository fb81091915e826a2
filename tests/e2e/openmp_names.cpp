// SPDX-License-Identifier: MIT
// tests/e2e/openmp_names.cpp - OpenMP constructs in functions that are inlined, and with inlined code in them
#include <cmath>

static volatile double sink;

static inline void work(long rounds)
{
	for (long i = 0; i < rounds; i++)
		sink = std::sqrt(static_cast<double>(i));
}

template <class T> struct solver {
	void step(T rounds)
	{
#pragma omp parallel num_threads(2)
		work(rounds);
	}
};

static inline void make_tasks()
{
#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task
		work(300000);
#pragma omp task
		work(200000);
	}
}

int main()
{
	auto other = [] {
#pragma omp parallel num_threads(2)
		work(100000);
	};

	solver<long>().step(100000);
	solver<int>().step(100000);
	make_tasks();
	other();
}
