/* SPDX-License-Identifier: MIT */
/* tests/unit/test_spin_loop.c - loops that wait for another thread, by their code */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/symbols/spin_loop.h"

/* Each instruction of the loop in CODE is in such a loop, or none is. */
#define EXPECT(spins, begin, end, ...)                                                \
	do {                                                                          \
		static const uint8_t code[] = { __VA_ARGS__ };                        \
		assert_int_equal(cpa_is_spin_loop(code, sizeof(code), begin), spins); \
		assert_false(cpa_is_spin_loop(code, sizeof(code), (begin) + 1) &&     \
			     cpa_is_spin_loop(code, sizeof(code), (begin) + 2));      \
		assert_false(cpa_is_spin_loop(code, sizeof(code), sizeof(code)));     \
		for (size_t cut = begin; cut < (end); cut++)                          \
			assert_false(cpa_is_spin_loop(code, cut, begin));             \
	} while (0)

static void test_waits(void **state)
{
	(void)state;
	/* nop; 1: lock orq $0,(%rsp); mov (%r14,%rax,4),%edx; test %edx,%edx; je 1b; ret */
	EXPECT(true, 1, 15, 0x90, 0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00, 0x41, 0x8b, 0x14, 0x86, 0x85,
	       0xd2, 0x74, 0xf2, 0xc3);
	/* 1: lock orq $0,(%rsp); lea 0x10(%rip),%rdx; mov (%rdx,%rax,4),%r11d; test %r11d,%r11d; je 1b */
	EXPECT(true, 0, 22, 0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00, 0x48, 0x8d, 0x15, 0x10, 0x00, 0x00,
	       0x00, 0x44, 0x8b, 0x1c, 0x82, 0x45, 0x85, 0xdb, 0x74, 0xea);
	/* 1: mfence; cmpl $1,(%rsi); je 1b */
	EXPECT(true, 0, 8, 0x0f, 0xae, 0xf0, 0x83, 0x3e, 0x01, 0x74, 0xf8);
	/* 1: pause; mov 0x10(%rip),%eax; test %eax,%eax; jne 2f; jmp 1b; 2: */
	EXPECT(true, 0, 14, 0xf3, 0x90, 0x8b, 0x05, 0x10, 0x00, 0x00, 0x00, 0x85, 0xc0, 0x75, 0x02,
	       0xeb, 0xf2, 0xc3);
	/* 1: movzbl (%rdi),%eax; and $1,%eax; cmp %al,%bl; jne 1b (near) */
	EXPECT(true, 0, 14, 0x0f, 0xb6, 0x07, 0x83, 0xe0, 0x01, 0x38, 0xc3, 0x0f, 0x85, 0xf2, 0xff,
	       0xff, 0xff);
}

static void test_works(void **state)
{
	(void)state;
	/* 1: mov (%rax),%rax; test %rax,%rax; jne 1b: follows a list */
	EXPECT(false, 0, 8, 0x48, 0x8b, 0x00, 0x48, 0x85, 0xc0, 0x75, 0xf8);
	/* 1: add $4,%rax; cmpl $0,(%rax); jne 1b: searches */
	EXPECT(false, 0, 9, 0x48, 0x83, 0xc0, 0x04, 0x83, 0x38, 0x00, 0x75, 0xf7);
	/* 1: sub $1,%eax; jne 1b: counts */
	EXPECT(false, 0, 5, 0x83, 0xe8, 0x01, 0x75, 0xfb);
	/* 1: mov %eax,(%rdi); cmpl $0,(%rsi); je 1b: writes */
	EXPECT(false, 0, 7, 0x89, 0x07, 0x83, 0x3e, 0x00, 0x74, 0xf9);
	/* 1: lock orq $1,(%rsp); je 1b; and lock orq $0,(%rdi) */
	EXPECT(false, 0, 8, 0xf0, 0x48, 0x83, 0x0c, 0x24, 0x01, 0x74, 0xf8);
	EXPECT(false, 0, 7, 0xf0, 0x48, 0x83, 0x0f, 0x00, 0x74, 0xf9);
	/* 1: call; cmpl $0,(%rsi); je 1b */
	EXPECT(false, 5, 10, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x83, 0x3e, 0x00, 0x74, 0xf6);
	/* 1: cmpl $0,(%rsi); je 2f; cmpl $0,(%rdi); 2: je 1b: may skip a part */
	EXPECT(false, 0, 10, 0x83, 0x3e, 0x00, 0x74, 0x03, 0x83, 0x3f, 0x00, 0x74, 0xf6);
	/* cmpl $0,(%rsi); je behind; ret: no loop */
	EXPECT(false, 0, 6, 0x83, 0x3e, 0x00, 0x74, 0x01, 0xc3, 0xc3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
