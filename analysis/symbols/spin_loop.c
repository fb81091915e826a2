/* SPDX-License-Identifier: MIT */
#include "analysis/symbols/spin_loop.h"

#define STACK	     4u /* number of the stack pointer */
#define INSTRUCTIONS 24u

enum flow { NEXT, IF, ALWAYS };

struct instruction {
	size_t size;
	uint16_t reads, writes; /* registers, a bit each */
	enum flow flow;		/* to `target`, from the begin of the code */
	int64_t target;
};

/* What is left of the code, and what is decoded so far. */
struct decoder {
	const uint8_t *code;
	size_t size, at;
	bool broken; /* it ended, or is not known here */
	uint8_t rex;
	/* Of the byte that names operands: a register, and a register or memory. */
	uint8_t reg, rm;
	bool memory,
		stack; /* the operand is memory; its address is that of the stack pointer, and a number */
	uint16_t base; /* registers of its address */
};

static uint8_t byte(struct decoder *d)
{
	if (d->at >= d->size)
		d->broken = true;
	return d->broken ? 0 : d->code[d->at++];
}

static int32_t number(struct decoder *d, unsigned bytes)
{
	uint32_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint32_t)byte(d) << 8 * i;
	return bytes == 1 ? (int8_t)value : (int32_t)value;
}

static uint16_t bit(unsigned reg)
{
	return (uint16_t)(1u << reg);
}

/* The operands that a ModRM byte names, with SIB and displacement. */
static void operands(struct decoder *d)
{
	uint8_t modrm = byte(d), mode = modrm >> 6, low = modrm & 7, sib, index;

	d->reg = (uint8_t)((modrm >> 3 & 7) | (d->rex & 4 ? 8 : 0));
	d->rm = (uint8_t)(low | (d->rex & 1 ? 8 : 0));
	d->memory = mode != 3;
	if (!d->memory)
		return;
	if (low == 4) {
		sib = byte(d);
		index = (uint8_t)((sib >> 3 & 7) | (d->rex & 2 ? 8 : 0));
		if (index != STACK)
			d->base |= bit(index);
		low = sib & 7;
		if (mode == 0 && low == 5)
			number(d, 4);
		else
			d->base |= bit((unsigned)low | (d->rex & 1 ? 8 : 0));
		d->stack = d->base == bit(STACK);
	} else if (mode == 0 && low == 5) {
		number(d, 4); /* from the next instruction on */
	} else {
		d->base |= bit(d->rm);
	}
	if (mode)
		number(d, mode == 1 ? 1 : 4);
}

static uint16_t operand(const struct decoder *d)
{
	return d->memory ? d->base : bit(d->rm);
}

/* A load of @reg from the other operand, or its address. */
static void load(struct decoder *d, struct instruction *i)
{
	operands(d);
	i->reads = operand(d);
	i->writes = bit(d->reg);
}

/* A comparison with a register, or with a number of @bytes. */
static void compare(struct decoder *d, struct instruction *i)
{
	operands(d);
	i->reads = operand(d) | bit(d->reg);
}

/* Opcodes 80, 81, 83: cmp; of a register and, or, add, sub; with @locked or of the stack with 0, a fence. */
static void arithmetic(struct decoder *d, struct instruction *i, unsigned bytes, bool locked)
{
	unsigned which;
	int32_t value;

	operands(d);
	which = d->reg & 7;
	value = number(d, bytes);
	i->reads = operand(d);
	if (locked) {
		d->broken |= which != 1 || value || !d->stack;
	} else if (which != 7) {
		d->broken |= d->memory || which == 2 || which == 3 || which == 6;
		i->writes = operand(d);
	}
}

/* Opcodes f6, f7: test with a number of @bytes. */
static void test(struct decoder *d, struct instruction *i, unsigned bytes)
{
	operands(d);
	d->broken |= (d->reg & 7) > 1;
	number(d, bytes);
	i->reads = operand(d);
}

static void jump(struct decoder *d, struct instruction *i, enum flow flow, unsigned bytes)
{
	int32_t distance = number(d, bytes);

	i->flow = flow;
	i->target = (int64_t)d->at + distance;
}

/* Opcodes behind 0f. */
static void two_bytes(struct decoder *d, struct instruction *i)
{
	uint8_t code = byte(d), kind;

	switch (code) {
	case 0xb6: /* movzx, movsx */
	case 0xb7:
	case 0xbe:
	case 0xbf:
		load(d, i);
		return;
	case 0x1f: /* nop */
		operands(d);
		return;
	case 0xae: /* lfence, mfence */
		kind = byte(d);
		d->broken |= kind != 0xe8 && kind != 0xf0;
		return;
	default:
		if (code >> 4 == 8)
			jump(d, i, IF, 4);
		else
			d->broken = true;
	}
}

static void one_byte(struct decoder *d, struct instruction *i, bool locked)
{
	uint8_t code = byte(d);

	if (locked && code != 0x83 && code != 0x81) {
		d->broken = true;
		return;
	}
	switch (code) {
	case 0x0f:
		two_bytes(d, i);
		return;
	case 0x38: /* cmp */
	case 0x39:
	case 0x3a:
	case 0x3b:
	case 0x84: /* test */
	case 0x85:
		compare(d, i);
		return;
	case 0x3c: /* cmp, test of rax */
	case 0xa8:
	case 0x3d:
	case 0xa9:
		number(d, code & 1 ? 4 : 1);
		i->reads = bit(0);
		return;
	case 0x63: /* movsxd, mov, lea */
	case 0x8a:
	case 0x8b:
	case 0x8d:
		load(d, i);
		return;
	case 0x80:
	case 0x83:
		arithmetic(d, i, 1, locked);
		return;
	case 0x81:
		arithmetic(d, i, 4, locked);
		return;
	case 0xf6:
		test(d, i, 1);
		return;
	case 0xf7:
		test(d, i, 4);
		return;
	case 0x90: /* nop; with f3 pause */
		return;
	case 0xeb:
		jump(d, i, ALWAYS, 1);
		return;
	case 0xe9:
		jump(d, i, ALWAYS, 4);
		return;
	default:
		if (code >> 4 == 7)
			jump(d, i, IF, 1);
		else
			d->broken = true;
	}
}

/* False: it is not known here. */
static bool decode(const uint8_t *code, size_t size, size_t at, struct instruction *i)
{
	struct decoder d = { .code = code, .size = size, .at = at };
	bool locked = false;

	*i = (struct instruction){ 0 };
	if (at + 1 < size && code[at] == 0xf3 && code[at + 1] == 0x90) {
		i->size = 2;
		return true;
	}
	if (at < size && code[at] == 0xf0) {
		locked = true;
		d.at++;
	}
	if (d.at < size && code[d.at] >> 4 == 4)
		d.rex = code[d.at++];
	one_byte(&d, i, locked);
	i->size = d.at - at;
	return !d.broken;
}

/* Follow the code from @at to a jump back, to @begin, which is returned; -1: there is none such. @end: behind it. */
static int64_t find_begin(const uint8_t *code, size_t size, size_t at, size_t *end)
{
	struct instruction i;

	for (unsigned n = 0; n < INSTRUCTIONS && decode(code, size, at, &i); n++) {
		at += i.size;
		if (i.flow && i.target < (int64_t)at) {
			*end = at;
			return i.target;
		}
		if (i.flow == ALWAYS)
			break;
	}
	return -1;
}

bool cpa_is_spin_loop(const uint8_t *code, size_t size, size_t at)
{
	size_t end = 0, here;
	int64_t begin = find_begin(code, size, at, &end);
	uint16_t written = 0, all = 0, early = 0;
	bool met = false;
	struct instruction i;

	if (begin < 0 || begin > (int64_t)at || end - (size_t)begin > CPA_SPIN_LOOP_MOST)
		return false;
	for (here = (size_t)begin; here < end; here += i.size) {
		if (!decode(code, size, here, &i))
			return false;
		met |= here == at;
		if (i.flow && here + i.size < end && i.target >= begin && i.target < (int64_t)end)
			return false;
		early |= i.reads & ~written; /* of the round before, if something writes it */
		written |= i.writes;
		all |= i.writes;
	}
	return met && here == end && !(early & all);
}
