/* SPDX-License-Identifier: MIT */
/*
 * preload/unwind/frame_rule.h - how to get from a frame to its caller's: the tables' programs
 *
 * A program of call frame instructions (DWARF 5, 6.4) says for each instruction of a function where
 * the caller's registers are. The canonical frame address, CFA, is the caller's stack pointer.
 *
 * No memory is allocated and no lock is taken; async-signal-safe. The tables must stay mapped meanwhile.
 */
#ifndef CPA_PRELOAD_UNWIND_FRAME_RULE_H
#define CPA_PRELOAD_UNWIND_FRAME_RULE_H

#include "preload/unwind/frame_table.h"
#include "preload/unwind/registers.h"
#include "preload/unwind/stack.h"

#define CPA_FRAME_REMEMBERED 4u /* rows that a program may remember at once */

enum cpa_frame_place {
	CPA_PLACE_SAME,	      /* the register still has its value */
	CPA_PLACE_UNDEFINED,  /* its value is lost; of the return address: there is no caller */
	CPA_PLACE_AT,	      /* in memory, at CFA + offset */
	CPA_PLACE_IS,	      /* it is CFA + offset */
	CPA_PLACE_REGISTER,   /* in register `offset` */
	CPA_PLACE_EXPRESSION, /* in memory, at the value of an expression */
	CPA_PLACE_EXPRESSED,  /* it is the value of an expression */
};

/* Where the caller's value of a register is. */
struct cpa_frame_where {
	enum cpa_frame_place place;
	int32_t offset;		      /* bytes from the CFA, or a register's number */
	struct cpa_cursor expression; /* DWARF 5, 2.5 */
};

/* A row of the table: what holds at one instruction. */
struct cpa_frame_row {
	bool is_expressed; /* the CFA is the value of `expression`, else that of a register + offset */
	uint32_t base;	   /* number of that register */
	int64_t offset;	   /* bytes */
	struct cpa_cursor expression;
	struct cpa_frame_where where[CPA_ARCH_REGISTERS];
};

/* Memory for one program: too much for the stack of a signal handler. The caller owns it. */
struct cpa_frame_program {
	struct cpa_frame_row row, initial, remembered[CPA_FRAME_REMEMBERED];
	unsigned depth; /* rows remembered now */
};

/*
 * Run the programs of @d up to the instruction at @pc, an address in memory. The result is @p->row, valid
 * until the next run. False: not understood.
 */
__attribute__((visibility("hidden"))) bool
cpa_frame_run(struct cpa_frame_program *p, const struct cpa_frame_description *d, uint64_t pc);

/*
 * Replace the registers @r of the frame of @row by its caller's, read from @stack. @return_column: number
 * of the register that holds the return address. False: they cannot be known; @r is then of no use.
 */
__attribute__((visibility("hidden"))) bool cpa_frame_apply(const struct cpa_frame_row *row,
							   uint64_t return_column,
							   struct cpa_stack_view *stack,
							   struct cpa_registers *r);

#endif
