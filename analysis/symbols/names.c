/* SPDX-License-Identifier: MIT */
/* analysis/symbols/names.c - names of a session's rows: components, sites, kinds */
#include "analysis/symbols/names.h"
#include "analysis/util/format.h"

#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/construct.h"
#include "analysis/symbols/names_met.h"
#include "analysis/util/printable.h"

#define KERNEL_FIRST (UINT64_C(1) << 47) /* addresses of programs are below */

static const char *const external_names[CPA_EXTERNALS] = {
	[CPA_EXT_OTHER] = "other",	   [CPA_EXT_SLEEP] = "sleep",
	[CPA_EXT_READ] = "read",	   [CPA_EXT_WRITE] = "write",
	[CPA_EXT_POLL] = "poll",	   [CPA_EXT_ACCEPT] = "accept",
	[CPA_EXT_SYNC] = "sync",	   [CPA_EXT_CHILD] = "child",
	[CPA_EXT_SIGNAL] = "signal",	   [CPA_EXT_TIMEOUT] = "timeout",
	[CPA_EXT_UNSEEN] = "unseen",	   [CPA_EXT_CONNECT] = "connect",
	[CPA_EXT_INPUT] = "input",	   [CPA_EXT_ROUNDS] = "sleep loop",
	[CPA_EXT_BLOCKED] = "blocked",	   [CPA_EXT_WAKING] = "in signal",
	[CPA_EXT_UNLOCKING] = "in unlock", [CPA_EXT_CREATING] = "in create",
};

static const char *word(const char *const *words, size_t count, uint32_t index)
{
	return index < count && words[index] ? words[index] : "other";
}

const char *cpa_names_component_kind(uint32_t kind)
{
	static const char *const words[] = {
		[CPA_FUNCTION] = "function", [CPA_LOCK] = "lock",   [CPA_REGION] = "region",
		[CPA_THREAD] = "thread",     [CPA_QUEUE] = "queue", [CPA_EXTERNAL] = "external",
	};

	return word(words, ARRAY_SIZE(words), kind);
}

const char *cpa_names_object_kind(uint32_t kind)
{
	static const char *const words[CPA_OBJECT_KINDS] = {
		[CPA_MUTEX] = "mutex",
		[CPA_SPIN] = "spin",
		[CPA_RWLOCK] = "rwlock",
		[CPA_COND] = "condition",
		[CPA_BARRIER] = "barrier",
		[CPA_SEM] = "semaphore",
		[CPA_ONCE] = "once",
		[CPA_FUTEX] = "futex",
		[CPA_ANNOTATION] = "annotation",
		[CPA_SIGNALS] = "signal",
		[CPA_OMP_LOCK] = "mutex",
	};

	return word(words, ARRAY_SIZE(words), kind);
}

const char *cpa_names_event(uint32_t kind)
{
	static const char *const words[CPA_EV_KINDS] = {
		[CPA_EV_START] = "start",
		[CPA_EV_EXIT] = "exit",
		[CPA_EV_CREATE] = "create",
		[CPA_EV_JOIN] = "join",
		[CPA_EV_LOCK] = "lock",
		[CPA_EV_UNLOCK] = "unlock",
		[CPA_EV_RDLOCK] = "read-lock",
		[CPA_EV_WAIT] = "wait",
		[CPA_EV_SIGNAL] = "signal",
		[CPA_EV_BROADCAST] = "broadcast",
		[CPA_EV_ARRIVE] = "arrive",
		[CPA_EV_LEAVE] = "leave",
		[CPA_EV_SEM_WAIT] = "sem-wait",
		[CPA_EV_POST] = "post",
		[CPA_EV_ONCE] = "once",
		[CPA_EV_EXTERNAL] = "external",
		[CPA_EV_FUTEX_WAIT] = "futex-wait",
		[CPA_EV_FUTEX_WAKE] = "futex-wake",
		[CPA_EV_TRY_FAILED] = "try-failed",
		[CPA_EV_SLEEP] = "sleep",
		[CPA_EV_AFTER] = "after",
		[CPA_EV_BEFORE] = "before",
		[CPA_EV_ENQUEUE] = "enqueue",
		[CPA_EV_DEQUEUE] = "dequeue",
		[CPA_EV_DONE] = "done",
		[CPA_EV_REGION] = "region",
		[CPA_EV_REGION_END] = "region-end",
		[CPA_EV_MARK] = "mark",
		[CPA_EV_STOP] = "stop",
		[CPA_EV_RESTART] = "restart",
		[CPA_EV_FORK] = "fork",
		[CPA_EV_CHILD] = "wait for child",
		[CPA_EV_EXEC] = "exec",
		[CPA_EV_TEAM] = "parallel",
		[CPA_EV_TEAM_END] = "parallel-end",
		[CPA_EV_PART] = "part",
		[CPA_EV_PART_END] = "part-end",
		[CPA_EV_TEAM_ARRIVE] = "team-arrive",
		[CPA_EV_TEAM_LEAVE] = "team-leave",
		[CPA_EV_TASK] = "task",
		[CPA_EV_TASK_START] = "task-start",
		[CPA_EV_TASK_END] = "task-end",
		[CPA_EV_TASK_WAIT] = "task-wait",
		[CPA_EV_READ] = "read",
		[CPA_EV_WRITE] = "write",
		[CPA_EV_POLL] = "poll",
		[CPA_EV_CLOSE] = "close",
		[CPA_EV_NAME] = "rename",
		[CPA_EV_CHUNK] = "chunk",
	};

	return word(words, CPA_EV_KINDS, kind);
}

const char *cpa_names_clock(uint32_t kind)
{
	static const char *const words[] = {
		[CPA_CLOCK_RSEQ] = "rseq",
		[CPA_CLOCK_PERF] = "perf",
		[CPA_CLOCK_SYSCALL] = "syscall",
	};

	return word(words, ARRAY_SIZE(words), kind);
}

char *cpa_names_text(const struct cpa_names *names, uint32_t name)
{
	struct cpa_name row;

	if (!cpa_dump_row(names->dump, CPA_TABLE_NAMES, name, &row, sizeof(row)))
		return NULL;
	return row.text[0] ? cpa_printable(row.text, sizeof(row.text)) : xstrdup("(no name)");
}

static bool sound(const struct cpa_dump *dump, const struct cpa_component *row)
{
	return row->kind >= CPA_FUNCTION && row->kind <= CPA_ACTIVITY &&
	       row->by <= CPA_BY_CALLERS && row->slot < dump->header.slots &&
	       (row->by != CPA_BY_EXTERNAL || row->address < CPA_EXTERNALS) &&
	       (row->by != CPA_BY_NAME || row->address <= dump->rows[CPA_TABLE_NAMES]) &&
	       (row->by != CPA_BY_ROLE || row->kind == CPA_THREAD) &&
	       (row->by != CPA_BY_CALLERS || row->kind == CPA_FUNCTION);
}

/* Resize @places from @before to @now rows; new rows have no name yet. */
static struct cpa_place *resize_places(struct cpa_place *places, uint32_t before, uint32_t now)
{
	for (uint32_t i = now; i < before; i++) {
		free(places[i].name);
		free(places[i].location);
		free(places[i].inlined);
	}
	places = xrealloc(places, (now + 1) * sizeof(*places));
	for (uint32_t i = before; i < now; i++)
		places[i] = (struct cpa_place){ 0 };
	return places;
}

static void forget_place(struct cpa_place *place)
{
	free(place->name);
	free(place->location);
	free(place->inlined);
	*place = (struct cpa_place){ 0 };
}

/* Whether the name found for @before is still valid; @modules: module rows at that time. */
static bool same_component(const struct cpa_component *before, const struct cpa_component *now,
			   uint32_t modules)
{
	return before->key == now->key && before->kind == now->kind && before->by == now->by &&
	       before->address == now->address && before->module == now->module &&
	       before->object_kind == now->object_kind && before->blocks == now->blocks &&
	       before->module <= modules && before->by != CPA_BY_NAME && before->by != CPA_BY_ROLE;
}

static void read_components(struct cpa_names *names, struct cpa_dump *dump, uint32_t modules)
{
	uint32_t before = names->components;

	names->components = dump->rows[CPA_TABLE_COMPONENTS];
	names->component_place = resize_places(names->component_place, before, names->components);
	names->component =
		xrealloc(names->component, (names->components + 1) * sizeof(*names->component));
	for (uint32_t i = 0; i < names->components; i++) {
		struct cpa_component row = { 0 };

		if (cpa_dump_row(dump, CPA_TABLE_COMPONENTS, i + 1, &row, sizeof(row)) &&
		    !sound(dump, &row)) {
			cpa_dump_skip(dump, CPA_TABLE_COMPONENTS);
			row.key = 0;
		}
		if (i < before && !same_component(&names->component[i], &row, modules))
			forget_place(&names->component_place[i]);
		names->component[i] = row;
	}
}

static void read_sites(struct cpa_names *names, struct cpa_dump *dump, uint32_t modules)
{
	uint32_t before = names->sites;

	names->sites = dump->rows[CPA_TABLE_SITES];
	names->site_place = resize_places(names->site_place, before, names->sites);
	names->instruction_place = resize_places(names->instruction_place, before, names->sites);
	names->site = xrealloc(names->site, (names->sites + 1) * sizeof(*names->site));
	for (uint32_t i = 0; i < names->sites; i++) {
		struct cpa_site row = { 0 };

		cpa_dump_row(dump, CPA_TABLE_SITES, i + 1, &row, sizeof(row));
		row.key &= CPA_ADDRESS_MASK | CPA_SITE_FUNCTION | CPA_SITE_CALL;
		if (i < before && (names->site[i].key != row.key ||
				   names->site[i].module != row.module || row.module > modules)) {
			forget_place(&names->site_place[i]);
			forget_place(&names->instruction_place[i]);
		}
		names->site[i] = row;
	}
}

static void read_modules(struct cpa_names *names, struct cpa_dump *dump)
{
	struct cpa_module *modules;

	names->modules = dump->rows[CPA_TABLE_MODULES];
	modules = xcalloc(names->modules + 1, sizeof(*modules));
	for (uint32_t i = 0; i < names->modules; i++)
		cpa_dump_row(dump, CPA_TABLE_MODULES, i + 1, &modules[i], sizeof(modules[i]));
	names->symbols = cpa_symbols_update(names->symbols, modules, names->modules);
	free(modules);
}

void cpa_names_init(struct cpa_names *names, struct cpa_dump *dump)
{
	*names = (struct cpa_names){ 0 };
	cpa_names_again(names, dump);
}

void cpa_names_again(struct cpa_names *names, struct cpa_dump *dump)
{
	uint32_t modules = names->modules;

	names->dump = dump;
	cpa_perf_map_close(names->perf_map);
	names->perf_map = NULL;
	free(names->caller);
	names->caller = NULL;
	read_modules(names, dump);
	read_components(names, dump, modules);
	read_sites(names, dump, modules);
}

void cpa_names_fini(struct cpa_names *names)
{
	free(resize_places(names->component_place, names->components, 0));
	free(resize_places(names->site_place, names->sites, 0));
	free(resize_places(names->instruction_place, names->sites, 0));
	free(names->component);
	free(names->site);
	free(names->caller);
	cpa_symbols_close(names->symbols);
	cpa_perf_map_close(names->perf_map);
}

const struct cpa_component *cpa_names_row(const struct cpa_names *names, uint32_t component)
{
	if (component == 0 || component > names->components ||
	    names->component[component - 1].key == 0)
		return NULL;
	return &names->component[component - 1];
}

/*
 * "mutex from cache_init": name of a class that is known by the code that initialized or used it.
 */
static void name_by_site(struct cpa_place *place, const struct cpa_component *row,
			 const char *between)
{
	const char *kind = row->kind == CPA_QUEUE	? "queue" :
			   row->object_kind == CPA_SPIN ? "spin lock" :
			   row->object_kind == 0	? "lock" :
							  cpa_names_object_kind(row->object_kind);
	char *name = cpa_format_text("%s %s %s", kind, between, place->name);

	free(place->name);
	place->name = name;
}

/* Make the question for the name of @row. Return false if no file can answer it. */
static bool make_question(const struct cpa_component *row, struct cpa_symbols_question *q)
{
	*q = (struct cpa_symbols_question){ .address = row->address, .module = row->module };
	switch (row->by) {
	case CPA_BY_EXTERNAL:
	case CPA_BY_NAME:
	case CPA_BY_ROLE:
		return false;
	case CPA_BY_VARIABLE:
		q->variable = true;
		q->flag = row->kind == CPA_QUEUE;
		return true;
	case CPA_BY_INIT_SITE:
	case CPA_BY_FIRST_SITE:
		q->flag = true;
		return true;
	default:
		return !(row->kind == CPA_THREAD && row->address == 0) &&
		       !(row->kind == CPA_FUNCTION && row->address >= KERNEL_FIRST);
	}
}

/* Whether it is a page of code outside all modules. */
static bool is_made(const struct cpa_component *row)
{
	return row->kind == CPA_FUNCTION && row->by != CPA_BY_CALL && !row->module && row->blocks;
}

/* The name of @blocks of such a page, which the caller frees; NULL: not known. */
static char *find_blocks(struct cpa_names *names, uint64_t page, uint64_t blocks)
{
	if (!names->perf_map)
		names->perf_map = cpa_perf_map_open(names->dump);
	return cpa_perf_map_name(names->perf_map, page, blocks);
}

/* The name of code outside all modules, which the caller frees; NULL: not known. */
static char *find_made(struct cpa_names *names, const struct cpa_component *row)
{
	return is_made(row) ? find_blocks(names, row->address, row->blocks) : NULL;
}

/*
 * The name of a page of such code on stacks, which the caller frees: of what ran there, as far as
 * samples tell, else of all that is there. NULL: not known, or other code.
 */
static char *find_made_caller(struct cpa_names *names, const struct cpa_site *site)
{
	uint64_t page = site->key & CPA_ADDRESS_MASK, blocks = 0;
	char *all, *ran;

	if (site->module || !(site->key & CPA_SITE_FUNCTION))
		return NULL;
	all = find_blocks(names, page, UINT64_MAX);
	if (!all)
		return NULL;
	for (uint32_t i = 0; i < names->components; i++)
		if (names->component[i].key && is_made(&names->component[i]) &&
		    names->component[i].address == page)
			blocks |= names->component[i].blocks;
	ran = blocks ? find_blocks(names, page, blocks) : NULL;
	if (ran)
		free(all);
	return ran ? ran : all;
}

/* "worker-*" at "run at pool.c:12": threads with a name, and their start routine. */
static struct cpa_place role_place(struct cpa_names *names, const struct cpa_component *row)
{
	uint32_t routine = (uint32_t)(row->address >> CPA_ROLE_BITS);
	const struct cpa_component *its = cpa_names_row(names, routine);
	struct cpa_place place = {
		.name = cpa_names_text(names, row->address & ((1u << CPA_ROLE_BITS) - 1)),
	};
	const struct cpa_place *start;

	if (!its || its->by == CPA_BY_ROLE)
		return place;
	start = cpa_names_component(names, routine);
	place.location = start->location ? cpa_format_text("%s at %s", start->name,
							   cpa_printable_base(start->location)) :
					   xstrdup(start->name);
	return place;
}

/* Find the sites at which constructs of OpenMP were met. */
static void find_callers(struct cpa_names *names)
{
	struct cpa_node node;

	names->caller = xcalloc(names->components + 1, sizeof(*names->caller));
	for (uint32_t i = 1; i <= names->dump->rows[CPA_TABLE_NODES]; i++)
		if (cpa_dump_row(names->dump, CPA_TABLE_NODES, i, &node, sizeof(node)) &&
		    (node.kind == CPA_EV_TEAM || node.kind == CPA_EV_TASK) &&
		    node.class <= names->components)
			names->caller[node.class] = node.site;
}

/* The function in or below which a thread met the construct @component; NULL: it has no name. */
static const char *caller(struct cpa_names *names, uint32_t component)
{
	const struct cpa_place *place;

	if (!names->caller)
		find_callers(names);
	place = cpa_names_site(names, names->caller[component], true);
	return place->nameless ? NULL : place->name;
}

/* Rename the function at @place, of the module in row @module, if it is the body of a construct. */
static void name_body(struct cpa_names *names, struct cpa_place *place, uint32_t module,
		      bool begins)
{
	char *within = begins && cpa_construct_lacks_function(place) ?
			       cpa_names_within(names, module, place->location) :
			       NULL;

	cpa_construct_body(place, begins, within);
	free(within);
}

static struct cpa_place find_place(struct cpa_names *names, uint32_t component)
{
	const struct cpa_component *row = cpa_names_row(names, component);
	struct cpa_symbols_question q;
	struct cpa_place place = { .name = find_made(names, row) };

	if (place.name)
		return place;
	if (make_question(row, &q)) {
		bool met = row->by == CPA_BY_FIRST_SITE && cpa_construct_word(row);

		place = met ? cpa_names_met(names, row) :
			q.variable ?
			      cpa_symbols_variable(names->symbols, q.module, q.address, q.flag) :
			      cpa_symbols_code(names->symbols, q.module, q.address, q.flag);
		if (cpa_construct_word(row)) {
			cpa_construct_name(&place, cpa_construct_word(row),
					   cpa_construct_is_nameless(&place) ?
						   caller(names, component) :
						   NULL);
		} else if (row->kind == CPA_FUNCTION)
			name_body(names, &place, row->module, true);
		else if (row->kind == CPA_THREAD)
			cpa_construct_pool(&place);
		else if (row->by == CPA_BY_VARIABLE)
			cpa_construct_critical(&place);
		else if (row->by == CPA_BY_INIT_SITE)
			name_by_site(&place, row, "from");
		else if (row->by == CPA_BY_FIRST_SITE)
			name_by_site(&place, row, "first used in");
	} else if (row->by == CPA_BY_EXTERNAL) {
		place.name = xstrdup(external_names[row->address]);
	} else if (row->by == CPA_BY_NAME) {
		place.name = cpa_names_text(names, (uint32_t)row->address);
	} else if (row->by == CPA_BY_ROLE) {
		place = role_place(names, row);
	} else {
		/* The main thread has no start routine. */
		place.name = xstrdup(row->kind == CPA_THREAD ? "main" : "(kernel)");
	}
	if (!place.name)
		place.name = xstrdup("(name lost)");
	return place;
}

/* Whether the site is that of a function on stacks, not a return address. */
static bool is_function(const struct cpa_site *site)
{
	return site->key & CPA_SITE_FUNCTION;
}

/*
 * Whether each site, by row - 1, is an instruction on a stack, that of a call or the last one, and
 * has no name yet; the caller frees it.
 */
static bool *find_instructions(const struct cpa_names *names)
{
	bool *is_instruction = xcalloc(names->sites + 1, sizeof(*is_instruction));
	struct cpa_stack stack;

	for (uint32_t i = 0; i < names->sites; i++)
		is_instruction[i] = names->site[i].key & CPA_SITE_CALL &&
				    !names->instruction_place[i].name;
	for (uint32_t i = 1; i <= names->dump->rows[CPA_TABLE_STACKS]; i++)
		if (cpa_dump_row(names->dump, CPA_TABLE_STACKS, i, &stack, sizeof(stack)) &&
		    stack.at && stack.at <= names->sites &&
		    !names->instruction_place[stack.at - 1].name)
			is_instruction[stack.at - 1] = names->site[stack.at - 1].key != 0;
	return is_instruction;
}

/*
 * Add the questions for the instructions on stacks to the @count @questions. Return the new number.
 */
static size_t ask_instructions(const struct cpa_names *names,
			       struct cpa_symbols_question *questions, size_t count)
{
	bool *is_instruction = find_instructions(names);

	for (uint32_t i = 0; i < names->sites; i++)
		if (is_instruction[i])
			questions[count++] = (struct cpa_symbols_question){
				.address = names->site[i].key & CPA_ADDRESS_MASK,
				.module = names->site[i].module,
				.inlined = true,
			};
	free(is_instruction);
	return count;
}

void cpa_names_prepare(struct cpa_names *names, bool sites, bool stacks)
{
	struct cpa_symbols_question *questions =
		xcalloc(names->components + (size_t)2 * names->sites + 1, sizeof(*questions));
	size_t count = 0;

	for (uint32_t i = 0; i < names->components; i++)
		if (names->component[i].key && !names->component_place[i].name &&
		    names->component[i].kind != CPA_ACTIVITY &&
		    make_question(&names->component[i], &questions[count]))
			count++;
	for (uint32_t i = 0; i < names->sites; i++)
		if (names->site[i].key && !names->site_place[i].name &&
		    !(names->site[i].key & CPA_SITE_CALL) &&
		    (sites || is_function(&names->site[i])))
			questions[count++] = (struct cpa_symbols_question){
				.address = names->site[i].key & CPA_ADDRESS_MASK,
				.module = names->site[i].module,
				.flag = !is_function(&names->site[i]),
			};
	if (stacks)
		count = ask_instructions(names, questions, count);
	cpa_symbols_prepare(names->symbols, questions, count);
	free(questions);
}

const struct cpa_place *cpa_names_component(struct cpa_names *names, uint32_t component)
{
	static const struct cpa_place none;
	const struct cpa_component *row = cpa_names_row(names, component);
	struct cpa_place *place;

	if (!row)
		return &none;
	place = &names->component_place[component - 1];
	if (!place->name)
		*place = find_place(names, component);
	return place;
}

const char *cpa_names_routine(struct cpa_names *names, uint32_t component)
{
	const struct cpa_component *row = cpa_names_row(names, component);

	if (row && row->by == CPA_BY_ROLE)
		component = (uint32_t)(row->address >> CPA_ROLE_BITS);
	return cpa_names_component(names, component)->name;
}

const struct cpa_place *cpa_names_site(struct cpa_names *names, uint32_t site, bool returned)
{
	static const struct cpa_place none;
	struct cpa_place *place;

	if (site == 0 || site > names->sites || names->site[site - 1].key == 0)
		return &none;
	place = &names->site_place[site - 1];
	if (!place->name) {
		returned = returned && !is_function(&names->site[site - 1]);
		place->name = find_made_caller(names, &names->site[site - 1]);
		if (place->name)
			return place;
		*place = cpa_symbols_code(names->symbols, names->site[site - 1].module,
					  names->site[site - 1].key & CPA_ADDRESS_MASK, returned);
		name_body(names, place, names->site[site - 1].module, !returned);
	}
	return place;
}

const struct cpa_place *cpa_names_instruction(struct cpa_names *names, uint32_t site)
{
	static const struct cpa_place none;
	struct cpa_place *place;

	if (site == 0 || site > names->sites || names->site[site - 1].key == 0)
		return &none;
	place = &names->instruction_place[site - 1];
	if (!place->name)
		*place = cpa_symbols_inlined(names->symbols, names->site[site - 1].module,
					     names->site[site - 1].key & CPA_ADDRESS_MASK);
	return place;
}
