/* SPDX-License-Identifier: MIT */
#include "preload/unwind/frame_rule.h"

/* Call frame instructions, and the two upper bits of those with an operand in the lower six. */
enum {
	CFA_ADVANCE = 1,
	CFA_OFFSET = 2,
	CFA_RESTORE = 3,
	CFA_NOP = 0x00,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
};

struct run {
	struct cpa_frame_program *p;
	const struct cpa_frame_description *d;
	struct cpa_cursor c;
	uint64_t at; /* instruction from which on the row holds */
};

/* Registers beyond those of frames, such as vector registers, are of no interest. */
static void set(struct run *r, uint64_t number, enum cpa_frame_place place, int64_t offset)
{
	if (offset != (int32_t)offset)
		r->c.bad = true;
	else if (number < CPA_ARCH_REGISTERS)
		r->p->row.where[number] =
			(struct cpa_frame_where){ .place = place, .offset = (int32_t)offset };
}

static void set_expression(struct run *r, enum cpa_frame_place place)
{
	uint64_t number = cpa_cursor_uleb(&r->c);
	struct cpa_cursor expression = cpa_cursor_part(&r->c, cpa_cursor_uleb(&r->c));

	set(r, number, place, 0);
	if (number < CPA_ARCH_REGISTERS)
		r->p->row.where[number].expression = expression;
}

static void set_cfa(struct run *r, uint64_t base, int64_t offset)
{
	r->p->row.is_expressed = false;
	r->p->row.base = (uint32_t)base;
	r->p->row.offset = offset;
	if (base >= CPA_ARCH_REGISTERS)
		r->c.bad = true;
}

static void restore(struct run *r, uint64_t number)
{
	if (number < CPA_ARCH_REGISTERS)
		r->p->row.where[number] = r->p->initial.where[number];
}

static void remember(struct run *r)
{
	if (r->p->depth == CPA_FRAME_REMEMBERED)
		r->c.bad = true;
	else
		r->p->remembered[r->p->depth++] = r->p->row;
}

static void recall(struct run *r)
{
	if (!r->p->depth)
		r->c.bad = true;
	else
		r->p->row = r->p->remembered[--r->p->depth];
}

static void advance(struct run *r, uint64_t units)
{
	r->at += units * r->d->code_unit;
}

static int64_t scaled(const struct run *r, int64_t offset)
{
	int64_t product;

	return __builtin_mul_overflow(offset, r->d->data_unit, &product) ? INT64_MAX : product;
}

/* Instructions that define the CFA. */
static bool define(struct run *r, uint64_t op)
{
	struct cpa_cursor *c = &r->c;
	uint64_t number;

	switch (op) {
	case CFA_DEF_CFA:
		number = cpa_cursor_uleb(c);
		set_cfa(r, number, (int64_t)cpa_cursor_uleb(c));
		return true;
	case CFA_DEF_CFA_SF:
		number = cpa_cursor_uleb(c);
		set_cfa(r, number, scaled(r, cpa_cursor_sleb(c)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		set_cfa(r, cpa_cursor_uleb(c), r->p->row.offset);
		return true;
	case CFA_DEF_CFA_OFFSET:
		r->p->row.offset = (int64_t)cpa_cursor_uleb(c);
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		r->p->row.offset = scaled(r, cpa_cursor_sleb(c));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		r->p->row.is_expressed = true;
		r->p->row.expression = cpa_cursor_part(c, cpa_cursor_uleb(c));
		return true;
	default:
		return false;
	}
}

/* Instructions that say where a register is. */
static bool locate(struct run *r, uint64_t op)
{
	struct cpa_cursor *c = &r->c;
	uint64_t number;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		number = cpa_cursor_uleb(c);
		set(r, number, CPA_PLACE_AT, scaled(r, (int64_t)cpa_cursor_uleb(c)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		number = cpa_cursor_uleb(c);
		set(r, number, CPA_PLACE_AT, scaled(r, cpa_cursor_sleb(c)));
		return true;
	case CFA_VAL_OFFSET:
		number = cpa_cursor_uleb(c);
		set(r, number, CPA_PLACE_IS, scaled(r, (int64_t)cpa_cursor_uleb(c)));
		return true;
	case CFA_VAL_OFFSET_SF:
		number = cpa_cursor_uleb(c);
		set(r, number, CPA_PLACE_IS, scaled(r, cpa_cursor_sleb(c)));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(r, cpa_cursor_uleb(c));
		return true;
	case CFA_UNDEFINED:
		set(r, cpa_cursor_uleb(c), CPA_PLACE_UNDEFINED, 0);
		return true;
	case CFA_SAME_VALUE:
		set(r, cpa_cursor_uleb(c), CPA_PLACE_SAME, 0);
		return true;
	case CFA_REGISTER:
		number = cpa_cursor_uleb(c);
		set(r, number, CPA_PLACE_REGISTER, (int64_t)cpa_cursor_uleb(c));
		return true;
	case CFA_EXPRESSION:
		set_expression(r, CPA_PLACE_EXPRESSION);
		return true;
	case CFA_VAL_EXPRESSION:
		set_expression(r, CPA_PLACE_EXPRESSED);
		return true;
	default:
		return false;
	}
}

static void other(struct run *r, uint64_t op)
{
	switch (op) {
	case CFA_NOP:
		break;
	case CFA_ADVANCE1:
		advance(r, cpa_cursor_number(&r->c, 1));
		break;
	case CFA_ADVANCE2:
		advance(r, cpa_cursor_number(&r->c, 2));
		break;
	case CFA_ADVANCE4:
		advance(r, cpa_cursor_number(&r->c, 4));
		break;
	case CFA_REMEMBER_STATE:
		remember(r);
		break;
	case CFA_RESTORE_STATE:
		recall(r);
		break;
	case CFA_GNU_ARGS_SIZE:
		cpa_cursor_uleb(&r->c);
		break;
	default:
		r->c.bad = !define(r, op) && !locate(r, op);
	}
}

/* Run a program until its row no longer holds at @pc. */
static bool run(struct run *r, uint64_t pc)
{
	while (r->c.at < r->c.end && r->at <= pc && !r->c.bad) {
		uint64_t op = cpa_cursor_number(&r->c, 1), low = op & 0x3f;

		switch (op >> 6) {
		case CFA_ADVANCE:
			advance(r, low);
			break;
		case CFA_OFFSET:
			set(r, low, CPA_PLACE_AT, scaled(r, (int64_t)cpa_cursor_uleb(&r->c)));
			break;
		case CFA_RESTORE:
			restore(r, low);
			break;
		default:
			other(r, op);
		}
	}
	return !r->c.bad;
}

bool cpa_frame_run(struct cpa_frame_program *p, const struct cpa_frame_description *d, uint64_t pc)
{
	struct run r = { .p = p, .d = d, .c = d->common, .at = d->start };

	memset(&p->row, 0, sizeof(p->row));
	p->depth = 0;
	if (!run(&r, UINT64_MAX))
		return false;
	p->initial = p->row;
	r.c = d->own;
	r.at = d->start;
	return run(&r, pc);
}

#define OPERANDS 8u /* depth of an expression's stack */

/* DWARF 5, 2.5: the operations that compilers and the C library use in call frame information. */
enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
};

struct evaluation {
	struct cpa_cursor c;
	struct cpa_stack_view *stack;
	const struct cpa_registers *r;
	uint64_t operand[OPERANDS];
	unsigned depth;
};

static void push(struct evaluation *e, uint64_t value)
{
	if (e->depth == OPERANDS)
		e->c.bad = true;
	else
		e->operand[e->depth++] = value;
}

static uint64_t pop(struct evaluation *e)
{
	if (!e->depth) {
		e->c.bad = true;
		return 0;
	}
	return e->operand[--e->depth];
}

/* An operation on the two uppermost operands. */
static void combine(struct evaluation *e, uint64_t op)
{
	uint64_t b = pop(e), a = pop(e);

	switch (op) {
	case OP_AND:
		push(e, a & b);
		break;
	case OP_MINUS:
		push(e, a - b);
		break;
	case OP_PLUS:
		push(e, a + b);
		break;
	case OP_SHL:
		push(e, b < 64 ? a << b : 0);
		break;
	case OP_GE:
		push(e, (int64_t)a >= (int64_t)b);
		break;
	default:
		e->c.bad = true;
	}
}

static void push_register(struct evaluation *e, uint64_t number)
{
	int64_t offset = cpa_cursor_sleb(&e->c);

	if (cpa_register_is_known(e->r, number))
		push(e, e->r->value[number] + (uint64_t)offset);
	else
		e->c.bad = true;
}

static void operate(struct evaluation *e, uint64_t op)
{
	uint64_t word = 0;

	switch (op) {
	case OP_DEREF:
		if (!cpa_stack_load(e->stack, pop(e), &word))
			e->c.bad = true;
		push(e, word);
		break;
	case OP_CONST1U:
	case OP_CONST2U:
	case OP_CONST4U:
		push(e, cpa_cursor_number(&e->c, 1u << (op - OP_CONST1U) / 2));
		break;
	case OP_CONST1S:
	case OP_CONST2S:
	case OP_CONST4S:
		push(e, (uint64_t)cpa_cursor_signed(&e->c, 1u << (op - OP_CONST1S) / 2));
		break;
	case OP_CONSTU:
		push(e, cpa_cursor_uleb(&e->c));
		break;
	case OP_CONSTS:
		push(e, (uint64_t)cpa_cursor_sleb(&e->c));
		break;
	case OP_DUP:
		word = pop(e);
		push(e, word);
		push(e, word);
		break;
	case OP_PLUS_UCONST:
		push(e, pop(e) + cpa_cursor_uleb(&e->c));
		break;
	default:
		if (op >= OP_LIT0 && op < OP_LIT0 + 32)
			push(e, op - OP_LIT0);
		else if (op >= OP_BREG0 && op < OP_BREG0 + 32)
			push_register(e, op - OP_BREG0);
		else
			combine(e, op);
	}
}

/*
 * Compute the value of @expression, which may refer to the registers @r. If @cfa is not NULL, it lies on
 * the expression's stack at the begin. False: not understood.
 */
static bool evaluate(struct cpa_cursor expression, const uint64_t *cfa,
		     struct cpa_stack_view *stack, const struct cpa_registers *r, uint64_t *value)
{
	struct evaluation e = { .c = expression, .stack = stack, .r = r };

	if (cfa)
		push(&e, *cfa);
	while (e.c.at < e.c.end && !e.c.bad)
		operate(&e, cpa_cursor_number(&e.c, 1));
	*value = pop(&e);
	return !e.c.bad;
}

/* The caller's value of a register. False: not known. */
static bool find(const struct cpa_frame_where *w, uint64_t number, uint64_t cfa,
		 struct cpa_stack_view *stack, const struct cpa_registers *r, uint64_t *value)
{
	uint64_t address;

	switch (w->place) {
	case CPA_PLACE_SAME:
		*value = r->value[number];
		return cpa_register_is_known(r, number);
	case CPA_PLACE_AT:
		address = cfa + (uint64_t)(int64_t)w->offset;
		/* Below the stack pointer: at its end the function has taken the register back. */
		*value = r->value[number];
		return address < r->value[CPA_ARCH_STACK_POINTER] ?
			       cpa_register_is_known(r, number) :
			       cpa_stack_load(stack, address, value);
	case CPA_PLACE_IS:
		*value = cfa + (uint64_t)(int64_t)w->offset;
		return true;
	case CPA_PLACE_REGISTER:
		if (!cpa_register_is_known(r, (uint64_t)w->offset))
			return false;
		*value = r->value[w->offset];
		return true;
	case CPA_PLACE_EXPRESSION:
		return evaluate(w->expression, &cfa, stack, r, &address) &&
		       cpa_stack_load(stack, address, value);
	case CPA_PLACE_EXPRESSED:
		return evaluate(w->expression, &cfa, stack, r, value);
	default:
		return false;
	}
}

bool cpa_frame_apply(const struct cpa_frame_row *row, uint64_t return_column,
		     struct cpa_stack_view *stack, struct cpa_registers *r)
{
	struct cpa_registers caller = { .known = 0 };
	uint64_t cfa, value;

	if (row->is_expressed) {
		if (!evaluate(row->expression, NULL, stack, r, &cfa))
			return false;
	} else {
		if (!cpa_register_is_known(r, row->base))
			return false;
		cfa = r->value[row->base] + (uint64_t)row->offset;
	}
	for (uint32_t i = 0; i < CPA_ARCH_REGISTERS; i++) {
		if (!find(&row->where[i], i, cfa, stack, r, &value))
			continue;
		caller.value[i] = value;
		caller.known |= 1u << i;
	}
	/* Unless the table says otherwise, the CFA is the caller's stack pointer. */
	if (row->where[CPA_ARCH_STACK_POINTER].place == CPA_PLACE_SAME) {
		caller.value[CPA_ARCH_STACK_POINTER] = cfa;
		caller.known |= 1u << CPA_ARCH_STACK_POINTER;
	}
	if (row->where[return_column].place == CPA_PLACE_SAME) /* it was called, so it was saved */
		return false;
	*r = caller;
	return cpa_register_is_known(r, return_column) &&
	       cpa_register_is_known(r, CPA_ARCH_STACK_POINTER);
}
