/* SPDX-License-Identifier: MIT */
/*
 * The tables hold the values of the JSON report (docs/schema.json): a column has the name of its
 * key, a row its position as `id`, and rows of an inner array the id of the row around them.
 */
#include "analysis/export/sqlite.h"

#include <errno.h>
#include <libiberty/libiberty.h>
#include <sqlite3.h>
#include <string.h>

#include "analysis/render/json.h"

#define COLUMNS 48 /* of a table, at most */

struct table {
	const char *name;
	const char *path;   /* keys to the array or object, separated by '.' */
	const char *inner;  /* key of an array in each of its elements, whose elements are rows */
	const char *outer;  /* column with the number of the element around; NULL: none */
	bool zipped;	    /* elements hold arrays of values, of which row i has the i-th */
	const char *column; /* names, separated by blanks; "a.b" is key b of the object a */
};

#define TIMES "cpu_s wait_s external_s runqueue_s probe_s "

static const struct table tables[] = {
	{ "program", "program", NULL, NULL, false,
	  "name exe host pid session_format sample_hz wall_s run_s sampled cpu_s external_s "
	  "critical_path_s observed_path_s parallelism max_parallelism utilization cores complete "
	  "observed_segments.process_s observed_segments.external_s observed_segments.runqueue_s "
	  "observed_segments.handoff_s observed_segments.probe_s" },
	{ "verdict", "verdict", NULL, NULL, false,
	  "kind doubt sentence action beside command critical_path_s least_s after_s others_s" },
	{ "parts", "parts", NULL, NULL, false, "from_s to_s" },
	{ "windows", "windows", NULL, NULL, false,
	  "windows batches stands_for_s wait_s wait_margin_s parallelism_margin max_parallelism_margin "
	  "utilization_margin critical_path_margin_s cpu_margin_s service_margin_s idle_margin_s "
	  "sentence rivals uneven" },
	{ "processes", "processes", NULL, NULL, false,
	  "number=id parent pid name count threads programs state status start_s end_s " TIMES
	  "cpu_margin_s wait_margin_s" },
	{ "threads", "threads", NULL, NULL, false,
	  "tid=id number process name start_routine " TIMES
	  "critical_path_s events bytes_read bytes_written earlier_threads begun_s last_event_s "
	  "cpu_margin_s wait_margin_s" },
	{ "spends", "threads", "spends", "thread", false, "kind name time_s" },
	{ "modules", "modules", NULL, NULL, false, "path build_id" },
	{ "components", "components", NULL, NULL, false,
	  "kind name location module offset cpu_s total_s critical_path_s observed_path_s saved_s "
	  "shared among since_s since_critical_path_s before_at_most_s error_at_most_s calls "
	  "inclusive_s inclusive_critical_path_s inclusive_saved_s critical_path_margin_s "
	  "saved_margin_s total_margin_s inclusive_critical_path_margin_s "
	  "inclusive_saved_margin_s run_share run_share_margin" },
	{ "objects", "objects", NULL, NULL, false,
	  "kind class location queue objects acquisitions contended wait_s hold_s handoffs saved_s "
	  "critical_path_s wait_margin_s hold_margin_s saved_margin_s critical_path_margin_s" },
	{ "queues", "queues", NULL, NULL, false,
	  "name location queues enqueued dequeued never_dequeued enqueued_twice unmatched "
	  "max_depth mean_depth item_wait_s item_wait_p50_s item_wait_p99_s service_s "
	  "service_total_s services services_without_done producers consumers consumers_idle "
	  "consumers_runqueue consumers_engaged critical_path_s observed_path_s saved_s limit=limit "
	  "limit_reason item_wait_margin_s critical_path_margin_s saved_margin_s" },
	{ "streams", "streams", NULL, NULL, false,
	  "kind writer=from reader=to streams bytes writes reads messages stay_s stay_p99_s "
	  "reader_waits reader_wait_s writer_waits writer_wait_s unmatched uncertain "
	  "from_critical_path_s to_critical_path_s reader_wait_margin_s writer_wait_margin_s "
	  "from_critical_path_margin_s to_critical_path_margin_s from_observed_path_s "
	  "to_observed_path_s saved_s limit=limit" },
	{ "marks", "marks", NULL, NULL, false, "name at_s thread critical_path_s" },
	{ "samples", "intervals.samples", NULL, NULL, false,
	  "at_s critical_path_s cpu_s external_s runqueue_s wait_s probe_s events path_changed" },
	{ "component_samples", "intervals.components", NULL, "curve", true,
	  "*kind *name critical_path_s saved_s cpu_s" },
	{ "thread_samples", "intervals.threads", NULL, "curve", true,
	  "*number process_s external_s runqueue_s wait_s probe_s events bytes" },
	{ "nodes", "pag.nodes", NULL, NULL, false, "number=id kind site class" },
	{ "edges", "pag.edges", NULL, NULL, false,
	  "source=from target=to type count weight_s on_path_s observed_s followed" },
	{ "edge_functions", "pag.edges", "functions", "edge", false, "name share" },
	{ "diagnostics", "diagnostics", NULL, NULL, false,
	  "probe_s clock samples samples_lost samples_s objects_untracked untimed "
	  "untimed_handoffs untimed_handoffs_s" },
	{ "notes", "diagnostics.notes", NULL, NULL, false, "text=" },
	{ "guidance", "guidance", NULL, NULL, false, "text=" },
	{ "warnings", "warnings", NULL, NULL, false, "text=" },
};

/*
 * A column: "name", "name=key", or "name=" for the element itself. A star before it: of the element
 * even if the table is zipped.
 */
struct column {
	char name[64], key[64];
	bool whole;
};

/* The columns of @table. Return how many. */
static unsigned columns_of(const struct table *table, struct column column[COLUMNS])
{
	const char *at = table->column;
	unsigned count = 0;

	for (; *at && count < COLUMNS; count++) {
		struct column *c = &column[count];
		size_t size = strcspn(at, " ");
		const char *equals = memchr(at, '=', size);

		*c = (struct column){ .whole = *at == '*' };
		at += c->whole;
		size -= c->whole;
		snprintf(c->name, sizeof(c->name), "%.*s",
			 (int)(equals ? (size_t)(equals - at) : size), at);
		snprintf(c->key, sizeof(c->key), "%.*s", (int)size, equals ? equals + 1 : at);
		if (equals)
			c->key[at + size - equals - 1] = '\0';
		for (char *dot = c->name; (dot = strchr(dot, '.'));)
			*dot = '_';
		at += size;
		at += strspn(at, " ");
	}
	return count;
}

/* The value at @path, keys separated by '.'; NULL: none. "": @value itself. */
static const json_t *value_at(const json_t *value, const char *path)
{
	while (value && *path) {
		size_t size = strcspn(path, ".");
		char key[64];

		snprintf(key, sizeof(key), "%.*s", (int)size, path);
		value = json_object_get(value, key);
		path += size + (path[size] == '.');
	}
	return value;
}

struct writing {
	sqlite3 *db;
	sqlite3_stmt *insert;
	const struct table *table;
	struct column column[COLUMNS];
	unsigned columns;
	sqlite3_int64 rows;
	bool failed; /* there was no memory */
};

static void check(struct writing *w, int ret)
{
	w->failed |= ret != SQLITE_OK && ret != SQLITE_DONE;
}

static void bind(struct writing *w, int parameter, const json_t *value)
{
	if (json_is_string(value))
		check(w, sqlite3_bind_text(w->insert, parameter, json_string_value(value), -1,
					   SQLITE_STATIC));
	else if (json_is_integer(value))
		check(w, sqlite3_bind_int64(w->insert, parameter, json_integer_value(value)));
	else if (json_is_real(value))
		check(w, sqlite3_bind_double(w->insert, parameter, json_real_value(value)));
	else if (json_is_boolean(value))
		check(w, sqlite3_bind_int(w->insert, parameter, json_is_true(value)));
	else
		check(w, sqlite3_bind_null(w->insert, parameter));
}

/* Insert @row. @outer: number of the element around it. @at: place in zipped arrays. */
static void insert(struct writing *w, const json_t *row, size_t outer, size_t at)
{
	int parameter = 0;

	check(w, sqlite3_bind_int64(w->insert, ++parameter, w->rows++));
	if (w->table->outer)
		check(w, sqlite3_bind_int64(w->insert, ++parameter, (sqlite3_int64)outer));
	if (w->table->zipped)
		check(w, sqlite3_bind_int64(w->insert, ++parameter, (sqlite3_int64)at));
	for (unsigned i = 0; i < w->columns; i++) {
		const json_t *value = value_at(row, w->column[i].key);

		if (w->table->zipped && !w->column[i].whole)
			value = json_array_get(value, at);
		bind(w, ++parameter, value);
	}
	check(w, sqlite3_step(w->insert));
	check(w, sqlite3_reset(w->insert));
}

static void insert_element(struct writing *w, const json_t *element, size_t number)
{
	size_t count = 0;

	if (w->table->inner) {
		const json_t *inner = json_object_get(element, w->table->inner);

		for (size_t i = 0; i < json_array_size(inner); i++)
			insert(w, json_array_get(inner, i), number, i);
	} else if (w->table->zipped) {
		for (unsigned i = 0; i < w->columns; i++)
			if (!w->column[i].whole && !count)
				count = json_array_size(json_object_get(element, w->column[i].key));
		for (size_t i = 0; i < count; i++)
			insert(w, element, number, i);
	} else {
		insert(w, element, number, 0);
	}
}

/* Create the table and prepare the statement that fills it. */
static void create(struct writing *w)
{
	const struct table *table = w->table;
	sqlite3_str *text = sqlite3_str_new(w->db), *marks = sqlite3_str_new(w->db);
	char *sql;

	w->columns = columns_of(table, w->column);
	w->rows = 0;
	sqlite3_str_appendf(text, "CREATE TABLE \"%w\" (id INTEGER PRIMARY KEY", table->name);
	sqlite3_str_appendf(marks, "INSERT INTO \"%w\" VALUES (?", table->name);
	if (table->outer) {
		sqlite3_str_appendf(text, ", \"%w\"", table->outer);
		sqlite3_str_appendall(marks, ", ?");
	}
	if (table->zipped) {
		sqlite3_str_appendall(text, ", sample");
		sqlite3_str_appendall(marks, ", ?");
	}
	for (unsigned i = 0; i < w->columns; i++) {
		sqlite3_str_appendf(text, ", \"%w\"", w->column[i].name);
		sqlite3_str_appendall(marks, ", ?");
	}
	sqlite3_str_appendall(text, ")");
	sqlite3_str_appendall(marks, ")");
	sql = sqlite3_str_finish(text);
	check(w, sql ? sqlite3_exec(w->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM);
	sqlite3_free(sql);
	sql = sqlite3_str_finish(marks);
	check(w, sql ? sqlite3_prepare_v2(w->db, sql, -1, &w->insert, NULL) : SQLITE_NOMEM);
	sqlite3_free(sql);
}

static void fill(struct writing *w, const json_t *report)
{
	const json_t *value = value_at(report, w->table->path);

	if (json_is_object(value))
		insert(w, value, 0, 0);
	for (size_t i = 0; i < json_array_size(value); i++)
		insert_element(w, json_array_get(value, i), i);
}

/* Return 0, or -1 with errno set. */
static int put_database(struct writing *w, FILE *out)
{
	sqlite3_int64 size;
	unsigned char *bytes = sqlite3_serialize(w->db, "main", &size, 0);
	bool good = bytes && fwrite(bytes, 1, (size_t)size, out) == (size_t)size;

	if (!bytes)
		errno = ENOMEM;
	sqlite3_free(bytes);
	return good ? 0 : -1;
}

int cpa_sqlite_write(const struct cpa_profile *profile, FILE *out)
{
	struct writing w = { 0 };
	json_t *report = cpa_json_profile(profile);
	int ret = -1;

	check(&w, sqlite3_open(":memory:", &w.db));
	check(&w, sqlite3_exec(w.db, "BEGIN", NULL, NULL, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !w.failed; i++) {
		w.table = &tables[i];
		create(&w);
		if (!w.failed)
			fill(&w, report);
		sqlite3_finalize(w.insert);
		w.insert = NULL;
	}
	check(&w, sqlite3_exec(w.db, "COMMIT", NULL, NULL, NULL));
	if (w.failed)
		errno = ENOMEM;
	else
		ret = put_database(&w, out);
	sqlite3_close(w.db);
	json_decref(report);
	return ret;
}
