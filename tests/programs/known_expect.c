/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_expect.c - the expectations
 */
#include "tests/programs/known_expect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLAIM_TOLERANCE 0.01 /* of the path */

/*
 * What is claimed holds for the times that were asked for. Each nanosecond beyond them changes a
 * path by one at most.
 */
static bool claim_holds(const struct kp_facts *facts, const struct kp_claim *made,
			const struct kp_expected *expected, double longest_ns)
{
	static const char *const words[] = { "path", "share", "saved" };
	double tolerance_ns = CLAIM_TOLERANCE * longest_ns + (double)facts->beyond_ns;
	double found_ns = longest_ns, off_ns;
	int c = 0;

	if (made->what != KP_PATH) {
		while (c < facts->count && strcmp(facts->components[c].name, made->component) != 0)
			c++;
		if (c == facts->count)
			kp_die(made->component, ESRCH);
		found_ns = made->what == KP_SHARE ? expected[c].share_ns : expected[c].saved_ns;
	}
	off_ns = found_ns - (double)(made->us * KP_NS);
	if (off_ns < tolerance_ns && off_ns > -tolerance_ns)
		return true;
	fprintf(stderr, "known_path: %s %s: found %.6f s, claimed %.6f s, may differ by %.6f s\n",
		words[made->what], made->component ? made->component : "", found_ns / 1e9,
		(double)made->us / 1e6, tolerance_ns / 1e9);
	return false;
}

static void print_component(const struct kp_named *c, const struct kp_expected *e)
{
	printf("{\"kind\":\"%s\",\"name\":\"%s\",\"match\":\"%s\",\"critical_path_s\":%.6f,"
	       "\"saved_s\":%.6f,\"cpu_s\":%.6f,\"external_s\":%.6f,\"tied\":%s}",
	       c->kind, c->name, c->match, e->share_ns / 1e9, e->saved_ns / 1e9,
	       (double)e->cpu_ns / 1e9, (double)e->external_ns / 1e9, e->tied ? "true" : "false");
}

/* All of each thread's CPU clock, also what is not on any path: what came before main(). */
static void print_threads(const struct kp_facts *facts, const struct kp_expected *expected)
{
	const char *comma = "";
	int c;

	for (c = KP_FIRST_FREE; c < facts->count; c++) {
		if (strcmp(facts->components[c].kind, "thread") != 0)
			continue;
		printf("%s{\"start_routine\":\"%s\",\"cpu_s\":%.6f}", comma,
		       facts->components[c].name,
		       (double)(expected[c].cpu_ns + (strcmp(facts->components[c].name, "main") ?
							      0 :
							      facts->before_main_ns)) /
			       1e9);
		comma = ",";
	}
}

static void print_json(const struct kp_facts *facts, const struct kp_expected *expected,
		       double longest_ns, int64_t cpu_ns, const struct kp_observed *observed)
{
	const char *comma = "";
	int c;

	printf("{\"asked_s\":%.6f,\"asked_path_s\":%.6f,",
	       (double)kp_graph_asked(facts->graph) / 1e9,
	       kp_graph_search(facts->graph, KP_ASKED, 1) / 1e9);
	printf("\"critical_path_s\":%.6f,\"cpu_s\":%.6f,\"components\":[", longest_ns / 1e9,
	       (double)(cpu_ns + facts->before_main_ns) / 1e9);
	for (c = 0; c < facts->count; c++) {
		if (!expected[c].cpu_ns && !expected[c].external_ns)
			continue;
		printf("%s", comma);
		print_component(&facts->components[c], &expected[c]);
		comma = ",\n";
	}
	printf("],\n\"threads\":[");
	print_threads(facts, expected);
	printf("],\n\"observed_path_s\":%.6f,\"observed\":{\"process_s\":%.6f,\"external_s\":%.6f,"
	       "\"tied\":%s}}\n",
	       (double)(kp_clock_ns(CLOCK_MONOTONIC) - facts->begin_ns) / 1e9,
	       (double)observed->process_ns / 1e9, (double)observed->external_ns / 1e9,
	       observed->tied ? "true" : "false");
}

/* All that came after the last event is work of main, in series with everything. */
static int64_t add_search(const struct kp_facts *facts, struct kp_expected *main_thread)
{
	int64_t search_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - facts->cpu_ns;

	main_thread->share_ns += (double)search_ns;
	main_thread->saved_ns += (double)search_ns;
	main_thread->cpu_ns += search_ns;
	return search_ns;
}

int kp_expect(const struct kp_facts *facts)
{
	struct kp_expected expected[KP_COMPONENTS] = { 0 };
	struct kp_observed observed;
	double longest_ns;
	int64_t cpu_ns = 0, search_ns;
	unsigned i;
	int c, ret = 0;

	longest_ns = kp_graph_search(facts->graph, -1, 1);
	if (longest_ns < 0)
		kp_die("the graph has a cycle", EINVAL);
	if (kp_graph_end(facts->graph) != facts->last)
		kp_die("the longest path does not end in main", EINVAL);
	for (c = 0; c < facts->count; c++) {
		expected[c] = kp_graph_expect(facts->graph, c);
		if (!strcmp(facts->components[c].kind, "thread"))
			cpu_ns += expected[c].cpu_ns;
	}
	for (i = 0; i < facts->claim_count; i++) {
		if (!claim_holds(facts, &facts->claims[i], expected, longest_ns))
			ret = 1;
	}
	observed = kp_graph_observed(facts->graph);
	search_ns = add_search(facts, &expected[facts->component]);
	observed.process_ns += search_ns;
	print_json(facts, expected, longest_ns + (double)search_ns, cpu_ns + search_ns, &observed);
	return ret;
}
