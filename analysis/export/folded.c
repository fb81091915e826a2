/* SPDX-License-Identifier: MIT */
#include "analysis/export/folded.h"

#include <inttypes.h>

#include "analysis/export/stack_sums.h"

/* A semicolon would begin the next frame. Line ends are not in printable texts. */
static void put_name(const char *name, FILE *out)
{
	for (; *name; name++)
		fputc(*name == ';' ? ':' : *name, out);
}

static void put_stack(const struct cpa_profile *profile, const struct cpa_stack_sums *stacks,
		      const struct cpa_stack_times *stack, enum cpa_weight weight, FILE *out)
{
	uint32_t name[CPA_STACK_MOST];
	size_t names = cpa_stack_sums_names(stacks, stack, name);

	put_name(profile->program.name, out);
	for (size_t i = 0; i < names; i++) {
		fputc(';', out);
		put_name(stacks->name[name[i]].name, out);
	}
	fprintf(out, " %" PRIu64 "\n", stack->weight_ns[weight]);
}

int cpa_folded_write(const struct cpa_profile *profile, enum cpa_weight weight, FILE *out)
{
	struct cpa_stack_sums stacks;

	cpa_stack_sums_init(&stacks, profile);
	for (size_t i = 0; i < stacks.count; i++)
		if (stacks.stack[i].weight_ns[weight])
			put_stack(profile, &stacks, &stacks.stack[i], weight, out);
	cpa_stack_sums_fini(&stacks);
	return 0;
}
