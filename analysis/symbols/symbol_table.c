/* SPDX-License-Identifier: MIT */
/* analysis/symbols/symbol_table.c - find the ELF symbol that covers an address, in O(log n) */
#include "analysis/symbols/symbol_table.h"

#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct symbol {
	GElf_Addr start, last; /* addresses that it covers */
	GElf_Addr reach;       /* largest `last` of this symbol and all before it */
	const char *name;      /* in the file */
	int number;	       /* index in the file */
	bool weak;
};

/* Sorted by start; of several with one start the best is last. */
struct list {
	size_t count;
	struct symbol *symbol;
};

struct cpa_symbol_table {
	struct list outer, local;
};

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->weak != y->weak)
		return x->weak ? -1 : 1;
	if (x->last != y->last)
		return x->last > y->last ? -1 : 1;
	return x->number > y->number ? -1 : x->number < y->number;
}

static void add_symbol(struct list *list, const struct symbol *symbol, int room)
{
	if (!list->symbol)
		list->symbol = xmalloc((size_t)room * sizeof(*list->symbol));
	list->symbol[list->count++] = *symbol;
}

static void sort(struct list *list)
{
	GElf_Addr reach = 0;

	if (!list->count)
		return;
	list->symbol = xrealloc(list->symbol, list->count * sizeof(*list->symbol));
	qsort(list->symbol, list->count, sizeof(*list->symbol), compare_symbols);
	for (size_t i = 0; i < list->count; i++) {
		if (list->symbol[i].last > reach)
			reach = list->symbol[i].last;
		list->symbol[i].reach = reach;
	}
}

/* Whether @symbol is code or data that the file contains. */
static bool is_place(const GElf_Sym *symbol, const char *name)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return name && name[0] && symbol->st_shndx != SHN_UNDEF && type != STT_SECTION &&
	       type != STT_FILE && type != STT_TLS;
}

struct cpa_symbol_table *cpa_symbol_table_open(Dwfl_Module *file)
{
	struct cpa_symbol_table *table = xcalloc(1, sizeof(*table));
	int count = dwfl_module_getsymtab(file);

	for (int i = 0; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr start, size;
		const char *name =
			dwfl_module_getsym_info(file, i, &symbol, &start, NULL, NULL, NULL);
		int bind;

		if (!is_place(&symbol, name))
			continue;
		bind = GELF_ST_BIND(symbol.st_info);
		size = symbol.st_size ? symbol.st_size : 1;
		add_symbol(bind == STB_LOCAL ? &table->local : &table->outer,
			   &(struct symbol){
				   .start = start,
				   .last = size - 1 <= UINT64_MAX - start ? start + size - 1 :
									    UINT64_MAX,
				   .name = name,
				   .number = i,
				   .weak = bind == STB_WEAK,
			   },
			   count);
	}
	sort(&table->outer);
	sort(&table->local);
	return table;
}

void cpa_symbol_table_close(struct cpa_symbol_table *table)
{
	if (!table)
		return;
	free(table->outer.symbol);
	free(table->local.symbol);
	free(table);
}

static const struct symbol *find(const struct list *list, GElf_Addr address)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->symbol[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Symbols may be nested: search backwards for the first that covers the address. */
	while (low > 0 && list->symbol[low - 1].reach >= address) {
		if (list->symbol[low - 1].last >= address)
			return &list->symbol[low - 1];
		low--;
	}
	return NULL;
}

const char *cpa_symbol_table_find(const struct cpa_symbol_table *table, GElf_Addr address,
				  GElf_Off *offset)
{
	const struct symbol *found = find(&table->outer, address);

	if (!found)
		found = find(&table->local, address);
	if (!found)
		return NULL;
	*offset = address - found->start;
	return found->name;
}
