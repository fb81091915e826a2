/* SPDX-License-Identifier: MIT */
#include "analysis/symbols/tail_call.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/code_bytes.h"
#include "analysis/symbols/construct.h"

#define CALL 0xe8u /* opcodes; a distance of 4 bytes follows */
#define JUMP 0xe9u
#define SIZE 5u	  /* of both */
#define MOST 160u /* bytes of the function up to its jump; it only calls the runtime */
#define LINE 16u  /* functions begin at multiples of it */

static uint64_t target_of(const uint8_t *instruction, uint64_t address)
{
	int32_t distance;

	memcpy(&distance, instruction + 1, sizeof(distance));
	return address + SIZE + (uint64_t)(int64_t)distance;
}

/* Whether the code at @at, behind a jump, is padding. */
static bool is_padding(const uint8_t *code, size_t at, size_t size, uint64_t address)
{
	if (at >= size || (address + at) % LINE == 0)
		return true;
	return code[at] == 0x66 || code[at] == 0x2e || code[at] == 0x90 || code[at] == 0xcc ||
	       (code[at] == 0x0f && at + 1 < size && code[at + 1] == 0x1f);
}

/* The name of the function at the run-time @address; NULL: it has none. The caller frees it. */
static char *name_at(struct cpa_names *names, uint32_t module, uint64_t address)
{
	struct cpa_place place = cpa_symbols_code(names->symbols, module, address, false);
	char *name = place.nameless ? NULL : place.name;

	if (place.nameless)
		free(place.name);
	free(place.location);
	return name;
}

/* Where the function at @function, as the file has addresses, jumps out; 0: nowhere. */
static uint64_t find_jump(struct cpa_names *names, const struct cpa_module *module, uint32_t row,
			  const struct cpa_code *code, uint64_t function)
{
	uint8_t bytes[MOST];
	size_t size = cpa_code_read(code, function, bytes, sizeof(bytes));
	char *name = name_at(names, row, function + module->bias), *other;
	uint64_t found = 0;

	/* Not one that is linked into the program: it is called where the construct is. */
	if (name && cpa_construct_is_runtime(name))
		size = 0;
	for (size_t at = 0; name && !found && at + SIZE <= size; at++) {
		uint64_t to;

		if (bytes[at] != JUMP || !is_padding(bytes, at + SIZE, size, function))
			continue;
		to = target_of(bytes + at, function + at);
		if (to >= function && to < function + size)
			continue;
		other = name_at(names, row, function + at + module->bias);
		if (other && strcmp(other, name) == 0)
			found = function + at;
		free(other);
		if (!found)
			break; /* of the next function */
	}
	free(name);
	return found;
}

uint64_t cpa_tail_call(struct cpa_names *names, uint32_t module, uint64_t address)
{
	struct cpa_module row;
	struct cpa_code *code;
	uint64_t before, found = 0;
	uint8_t call[SIZE];

	if (!module || !cpa_dump_row(names->dump, CPA_TABLE_MODULES, module, &row, sizeof(row)))
		return 0;
	before = address - row.bias - SIZE;
	code = cpa_code_open(&row);
	if (code && cpa_code_read(code, before, call, SIZE) == SIZE && call[0] == CALL)
		found = find_jump(names, &row, module, code, target_of(call, before));
	cpa_code_close(code);
	return found ? found + row.bias : 0;
}
