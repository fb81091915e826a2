/* SPDX-License-Identifier: MIT */
#include "preload/unwind/walk.h"

#define PAGE_MASK UINT64_C(0xfff)
#define PUSHED	  8u /* words that code without tables may have pushed onto its return address */

/* How to get on from an instruction. */
enum {
	HOW_USUAL,  /* by the rule alone */
	HOW_ROW,    /* by its row of the table */
	HOW_SIGNAL, /* so, and the frame is the kernel's: its caller was interrupted */
	HOW_FRAME,  /* by the frame pointer: there is no row */
	HOW_END,    /* it has no caller */
};

static const uint8_t saved_register[CPA_ARCH_SAVED] = CPA_ARCH_SAVED_REGISTERS;

void cpa_walk_forget(struct cpa_walk *walk)
{
	memset(walk->rule, 0, sizeof(walk->rule));
}

/* Whether register @number of @row is where a rule can say, or where it does not matter. */
static bool saves_usually(const struct cpa_frame_row *row, uint32_t number)
{
	const struct cpa_frame_where *w = &row->where[number];

	if (w->place == CPA_PLACE_AT)
		return w->offset == (int16_t)w->offset && w->offset;
	return w->place == CPA_PLACE_SAME && number != CPA_ARCH_RETURN_ADDRESS;
}

/* Make a usual rule of @row, if it is one. */
static void simplify(struct cpa_walk_rule *rule, const struct cpa_frame_row *row)
{
	if (row->is_expressed || row->offset != (int32_t)row->offset ||
	    row->where[CPA_ARCH_STACK_POINTER].place != CPA_PLACE_SAME)
		return;
	for (unsigned i = 0; i < CPA_ARCH_SAVED; i++) {
		if (!saves_usually(row, saved_register[i]))
			return;
		rule->saved[i] = (int16_t)row->where[saved_register[i]].offset;
	}
	rule->base = (uint8_t)row->base;
	rule->offset = (int32_t)row->offset;
	rule->how = HOW_USUAL;
}

/*
 * Find the row of the table that holds at @pc, into walk->program.row. The loader is asked each time: the
 * C library also unloads without dlclose(), when iconv_close() needs a module no more.
 */
static bool find_row(struct cpa_walk *walk, uint64_t pc, struct cpa_frame_description *d)
{
	struct cpa_frame_table t;

	return cpa_frame_table_find(pc, &t) && cpa_frame_description_find(&t, pc, d) &&
	       d->return_column == CPA_ARCH_RETURN_ADDRESS && cpa_frame_run(&walk->program, d, pc);
}

/*
 * The rule of a frame at @pc. @called: somebody is to return right behind. A return to where a function begins
 * is none from a call: there begins a stack that was made by hand, as by makecontext().
 */
static struct cpa_walk_rule *rule_of(struct cpa_walk *walk, uint64_t pc, bool called)
{
	struct cpa_walk_rule *rule = &walk->rule[(pc ^ pc >> 8) % CPA_WALK_RULES];
	const struct cpa_frame_row *row = &walk->program.row;
	struct cpa_frame_description d;

	if (rule->pc == pc)
		return rule;
	*rule = (struct cpa_walk_rule){ .pc = pc, .how = HOW_FRAME };
	if (!find_row(walk, pc, &d)) {
		if (called && find_row(walk, pc + 1, &d) && d.start == pc + 1 && !d.is_signal) {
			rule->function = d.start;
			rule->how = HOW_END;
		}
		return rule;
	}
	rule->function = d.start;
	if (row->where[CPA_ARCH_RETURN_ADDRESS].place == CPA_PLACE_UNDEFINED) {
		rule->how = HOW_END;
		return rule;
	}
	rule->how = d.is_signal ? HOW_SIGNAL : HOW_ROW;
	if (!d.is_signal)
		simplify(rule, row);
	return rule;
}

static bool apply_rule(const struct cpa_walk_rule *rule, struct cpa_stack_view *stack,
		       struct cpa_registers *r)
{
	uint64_t cfa, value, sp = r->value[CPA_ARCH_STACK_POINTER];

	if (!cpa_register_is_known(r, rule->base))
		return false;
	cfa = r->value[rule->base] + (uint64_t)(int64_t)rule->offset;
	for (unsigned i = 0; i < CPA_ARCH_SAVED; i++) {
		uint64_t address = cfa + (uint64_t)(int64_t)rule->saved[i];
		uint32_t number = saved_register[i];

		/* Below the stack pointer: at its end the function has taken the register back. */
		if (!rule->saved[i] || address < sp)
			continue;
		if (!cpa_stack_load(stack, address, &value))
			return false;
		r->value[number] = value;
		r->known |= 1u << number;
	}
	r->value[CPA_ARCH_STACK_POINTER] = cfa;
	/* The called function may have used the others. */
	r->known &= CPA_ARCH_KEPT;
	return true;
}

/* As the frame pointer says: above the saved one lies the return address. */
static bool apply_frame_pointer(struct cpa_stack_view *stack, struct cpa_registers *r)
{
	uint64_t frame = r->value[CPA_ARCH_FRAME_POINTER], before, back;

	if (!cpa_register_is_known(r, CPA_ARCH_FRAME_POINTER) ||
	    frame < r->value[CPA_ARCH_STACK_POINTER] || !cpa_stack_load(stack, frame, &before) ||
	    !cpa_stack_load(stack, frame + 8, &back))
		return false;
	*r = (struct cpa_registers){ .known = 1u << CPA_ARCH_FRAME_POINTER |
					      1u << CPA_ARCH_STACK_POINTER |
					      1u << CPA_ARCH_RETURN_ADDRESS };
	r->value[CPA_ARCH_FRAME_POINTER] = before;
	r->value[CPA_ARCH_STACK_POINTER] = frame + 16;
	r->value[CPA_ARCH_RETURN_ADDRESS] = back;
	return true;
}

/* Replace the registers by those of the caller. False: that is not possible. */
static bool step(struct cpa_walk *walk, const struct cpa_walk_rule *rule, uint64_t pc,
		 struct cpa_registers *r)
{
	struct cpa_stack_view *stack = &walk->stack;
	struct cpa_frame_description d;

	switch (rule->how) {
	case HOW_USUAL:
		return apply_rule(rule, stack, r);
	case HOW_ROW:
	case HOW_SIGNAL:
		return find_row(walk, pc, &d) &&
		       cpa_frame_apply(&walk->program.row, d.return_column, stack, r);
	case HOW_FRAME:
		return apply_frame_pointer(stack, r);
	default:
		return false;
	}
}

/* The frame at @pc, which is in a call if @called. */
static struct cpa_walk_frame frame_at(const struct cpa_walk_rule *rule, uint64_t pc, bool called)
{
	return (struct cpa_walk_frame){
		.function = rule->function ? rule->function : pc & ~PAGE_MASK,
		.call = called && rule->function && pc >= rule->function ? pc : 0,
	};
}

/*
 * Follow the callers of the frame with registers @r, which are used up. @called: the instruction is the one
 * behind a call.
 */
static void follow(struct cpa_walk *walk, struct cpa_registers *r, bool called)
{
	walk->complete = walk->in_handler = false;
	while (walk->frames < CPA_WALK_FRAMES) {
		uint64_t pc = r->value[CPA_ARCH_RETURN_ADDRESS] - called;
		uint64_t sp = r->value[CPA_ARCH_STACK_POINTER];
		const struct cpa_walk_rule *rule;

		if (called && !r->value[CPA_ARCH_RETURN_ADDRESS]) {
			walk->complete = true;
			return;
		}
		rule = rule_of(walk, pc, called);
		walk->frame[walk->frames++] = frame_at(rule, pc, called);
		if (rule->how == HOW_END) {
			walk->complete = true;
			return;
		}
		called = rule->how != HOW_SIGNAL;
		walk->in_handler |= !called;
		if (!step(walk, rule, pc, r))
			return;
		if (called && r->value[CPA_ARCH_STACK_POINTER] <= sp)
			return; /* frames of callers lie above */
		if (!called)	/* the handler may have had a stack of its own */
			cpa_stack_from(&walk->stack, r->value[CPA_ARCH_STACK_POINTER]);
	}
}

/* Whether a call in code that a table covers returns to @address. */
static bool is_behind_call(struct cpa_walk *walk, uint64_t address)
{
	struct cpa_frame_description d;

	/* Code may be for execution only. */
	return find_row(walk, address - 1, &d) &&
	       cpa_stack_is_readable(address - sizeof(address)) &&
	       cpa_arch_is_behind_call(address, address - d.start);
}

/*
 * No table covers the instruction at @from. Assembly by hand has often none, nor a frame pointer, but it is
 * mostly a leaf that has pushed some registers at most. Then its return address is one of the next words: the
 * first behind a call from which the walk comes to the thread's start. False: there is none.
 */
static bool follow_leaf(struct cpa_walk *walk, const struct cpa_registers *from)
{
	uint64_t address = from->value[CPA_ARCH_STACK_POINTER], end = address + PUSHED * 8, word;
	struct cpa_registers r;

	while (address < end && cpa_stack_load(&walk->stack, address, &word)) {
		address += sizeof(word);
		if (!is_behind_call(walk, word))
			continue;
		walk->frame[0] = (struct cpa_walk_frame){
			.function = from->value[CPA_ARCH_RETURN_ADDRESS] & ~PAGE_MASK,
		};
		walk->frames = 1;
		r = *from;
		r.known &= CPA_ARCH_KEPT;
		r.value[CPA_ARCH_RETURN_ADDRESS] = word;
		r.value[CPA_ARCH_STACK_POINTER] = address;
		follow(walk, &r, true);
		if (walk->complete)
			return true;
		cpa_stack_from(&walk->stack, from->value[CPA_ARCH_STACK_POINTER]);
	}
	return false;
}

void cpa_walk_from(struct cpa_walk *walk, struct cpa_stack_own own,
		   const struct cpa_registers *from)
{
	uint64_t pc = from->value[CPA_ARCH_RETURN_ADDRESS];
	struct cpa_registers r;

	cpa_stack_begin(&walk->stack, own);
	cpa_stack_from(&walk->stack, from->value[CPA_ARCH_STACK_POINTER]);
	if (rule_of(walk, pc, false)->how == HOW_FRAME && follow_leaf(walk, from))
		return;
	walk->frames = 0;
	r = *from;
	follow(walk, &r, false);
}
