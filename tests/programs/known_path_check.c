/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_path_check.c - the search, on graphs small enough to see through
 */
#include "tests/programs/known_graph.h"

#include <stdio.h>

enum { LEFT, RIGHT, BOTH };

static struct kp_graph graph;
static int number, failed;

static void expect(const char *what, double found, double expected)
{
	bool same = found > expected - 1e-6 && found < expected + 1e-6;

	printf("%s %d - %s: %g, expected %g\n", same ? "ok" : "not ok", ++number, what, found,
	       expected);
	failed |= !same;
}

/* Two threads, 10 and 7 long, and an edge from 6 in the first to 2 in the second: 6 + 5 = 11. */
static void test_edge_makes_longest(struct kp_row *left, struct kp_row *right)
{
	struct kp_expected e;
	kp_id release;

	release = kp_graph_add_event(left, 6, 1U << LEFT | 1U << BOTH);
	kp_graph_add_event(left, 4, 1U << LEFT);
	kp_graph_add_event(right, 2, 1U << RIGHT);
	kp_graph_add_edge(right, release);
	kp_graph_add_event(right, 5, 1U << RIGHT | 1U << BOTH);

	expect("length", kp_graph_search(&graph, -1, 1), 11);
	e = kp_graph_expect(&graph, LEFT);
	expect("share of the first", e.share_ns, 6);
	expect("saved by the first: leaves 2 + 5", e.saved_ns, 4);
	expect("CPU time of the first", (double)e.cpu_ns, 10);
	e = kp_graph_expect(&graph, RIGHT);
	expect("share of the second", e.share_ns, 5);
	expect("saved by the second: leaves 6 + 4", e.saved_ns, 1);
	e = kp_graph_expect(&graph, BOTH);
	expect("share of what is active in both", e.share_ns, 11);
	expect("saved by it: leaves the 4", e.saved_ns, 7);
	expect("the path is unique", e.tied, 0);
}

/* 1 more at the end of the first: 11 both ways. */
static void test_tie_is_seen(struct kp_row *left)
{
	kp_graph_add_event(left, 1, 1U << LEFT);
	expect("length of both", kp_graph_search(&graph, -1, 1), 11);
	expect("the first's share is tied", kp_graph_expect(&graph, LEFT).tied, 1);
}

/* The second thread reaches its last release 1 after the first arrives; 20 are on that chain. */
static void test_observed_follows_latest_release(struct kp_row *left, struct kp_row *right)
{
	struct kp_observed observed;
	kp_id release;

	kp_graph_add_event(right, 13, 1U << RIGHT);
	release = kp_graph_last(right);
	kp_graph_event(&graph, release)->at_ns = 1000001;
	kp_graph_event(&graph, kp_graph_add_event(left, 3, 0))->at_ns = 1000000;
	kp_graph_add_event(left, 0, 0);
	kp_graph_add_edge(left, release);
	observed = kp_graph_observed(&graph);
	expect("observed process time", (double)observed.process_ns, 20);
	expect("release and arrival are close", observed.tied, 1);
}

/* An edge from an event that does not exist yet can never be followed. */
static void test_cycle_is_an_error(struct kp_row *left)
{
	kp_graph_add_event(left, 1, 1U << LEFT);
	kp_graph_add_edge(left, kp_graph_last(left) + 1);
	kp_graph_add_event(left, 1, 1U << LEFT);
	expect("a cycle", kp_graph_search(&graph, -1, 1), -1);
}

int main(void)
{
	struct kp_row *left = kp_graph_add_row(&graph);
	struct kp_row *right = kp_graph_add_row(&graph);

	if (!left || !right)
		return 1;
	test_edge_makes_longest(left, right);
	test_tie_is_seen(left);
	test_observed_follows_latest_release(left, right);
	test_cycle_is_an_error(left);
	printf("1..%d\n", number);
	return failed;
}
