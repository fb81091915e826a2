/* SPDX-License-Identifier: MIT */
/* tests/e2e/openmp_rows.c - more regions than programs usually have; the last thing that each does is a barrier */
static int sum, regions;

#define REGION(f)                                                                             \
	static void f(void)                                                                   \
	{                                                                                     \
		_Pragma("omp parallel num_threads(2)")                                        \
		{                                                                             \
			__atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED);                        \
			_Pragma("omp barrier") __atomic_add_fetch(&sum, 1, __ATOMIC_RELAXED); \
			_Pragma("omp barrier")                                                \
		}                                                                             \
		regions++; /* the call of the region is no jump */                            \
	}

REGION(a0)
REGION(a1)
REGION(a2)
REGION(a3)
REGION(a4)
REGION(a5)
REGION(a6)
REGION(a7)
REGION(b0)
REGION(b1)
REGION(b2)
REGION(b3)
REGION(b4)
REGION(b5)
REGION(b6)
REGION(b7)
REGION(c0)
REGION(c1)
REGION(c2)
REGION(c3)
REGION(c4)
REGION(c5)
REGION(c6)
REGION(c7)
REGION(d0)
REGION(d1)
REGION(d2)
REGION(d3)
REGION(d4)
REGION(d5)
REGION(d6)
REGION(d7)
REGION(e0)
REGION(e1)
REGION(e2)
REGION(e3)
REGION(e4)
REGION(e5)
REGION(e6)
REGION(e7)

int main(void)
{
	void (*const all[])(void) = {
		a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7, c0, c1, c2, c3,
		c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7, e0, e1, e2, e3, e4, e5, e6, e7,
	};
	unsigned count = sizeof(all) / sizeof(all[0]);

	for (unsigned i = 0; i < count; i++)
		all[i]();
	return sum != 4 * regions;
}
