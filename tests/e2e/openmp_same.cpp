/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_same.cpp - an OpenMP program that prints the same natively and under cpa
 *
 * `openmp_same PLUGIN`: the plugin is this file as a library, loaded with RTLD_LOCAL.
 */
#include <dlfcn.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static long sum(int n)
{
	long total = 0;

#pragma omp parallel for reduction(+ : total)
	for (int i = 0; i < n; i++)
		total += i;
	return total;
}

extern "C" long plugin(int n)
{
	return sum(n);
}

static long fibonacci(int n)
{
	long a = 0, b = 0;

	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 8)
	a = fibonacci(n - 1);
#pragma omp task shared(b) if (n > 8)
	b = fibonacci(n - 2);
#pragma omp taskwait
	return a + b;
}

/* Has a copy constructor, and an alignment that a block of the runtime does not have. */
struct big {
	std::string text = "of some length, so that it is on the heap";
	alignas(64) double value = 7;
};

static long task_results()
{
	long copied = 0, looped = 0, reduced = 0, fib = 0;
	unsigned long long wide = 0;
	big b;

#pragma omp parallel
#pragma omp single
	fib = fibonacci(18);
#pragma omp parallel
#pragma omp master
	for (int i = 0; i < 100; i++) {
#pragma omp task firstprivate(b) shared(copied)
		{
			long found = (long)b.text.size() + (long)b.value;
#pragma omp atomic
			copied += found + ((size_t)&b.value % 64 ? 1000000 : 0);
		}
	}
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(7) firstprivate(b)
	for (int i = 0; i < 1000; i++) {
#pragma omp atomic
		looped += i + (long)b.value;
	}
#pragma omp parallel
#pragma omp single
#pragma omp taskloop reduction(+ : reduced)
	for (int i = 0; i < 1000; i++)
		reduced += i;
#pragma omp parallel
#pragma omp single
#pragma omp taskloop
	for (unsigned long long i = 0; i < 100; i++) {
#pragma omp atomic
		wide += i;
	}
	return fib + copied + looped + reduced + (long)wide;
}

/* As many tasks as have no room on a stack, of data that no function copies. */
static long many_rounds()
{
	const long rounds = 200000;
	long sum = 0;

#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1)
	for (long i = 0; i < rounds; i++) {
#pragma omp atomic
		sum += i;
	}
#pragma omp parallel
#pragma omp single
	{
#pragma omp taskloop grainsize(1) nogroup
		for (long i = rounds; i > 0; i -= 3) {
#pragma omp atomic
			sum += i;
		}
#pragma omp taskloop num_tasks(5) nogroup
		for (unsigned long i = 100; i > 10; i -= 7) {
#pragma omp atomic
			sum += (long)i;
		}
	}
#pragma omp taskloop grainsize(1)
	for (long i = 0; i < rounds; i++)
		sum -= i;
	return sum;
}

static long dependences()
{
	int x = 0, many[12] = { 0 };
	std::vector<int> order;

#pragma omp parallel
#pragma omp single
	for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : x) shared(x, order)
		{
			x += i;
			order.push_back(x);
		}
#pragma omp task depend(out                                                                       \
			: many[0], many[1], many[2], many[3], many[4], many[5], many[6], many[7]) \
	shared(many)
		many[7]++;
	}
	return x + (long)order.size() + order[3] + many[7];
}

static long detached()
{
	omp_event_handle_t event;
	long done = 0;

#pragma omp parallel num_threads(2)
#pragma omp single
	{
#pragma omp task detach(event) shared(done)
		{
			done++;
			omp_fulfill_event(event);
		}
#pragma omp taskwait
		done++;
	}
	return done;
}

static long ordered_loops()
{
	long value = 1;

#pragma omp parallel for ordered schedule(static, 1)
	for (int i = 0; i < 50; i++) {
#pragma omp ordered
		value = value * 3 % 1000003 + i;
	}
#pragma omp parallel for ordered schedule(dynamic, 2)
	for (unsigned long long i = 0; i < 50; i++) {
#pragma omp ordered
		value = value * 3 % 1000003 + (long)i;
	}
	return value;
}

static long doacross()
{
	static long row[64];

	row[0] = 1;
#pragma omp parallel for ordered(1) schedule(static, 1)
	for (int i = 1; i < 64; i++) {
#pragma omp ordered depend(sink : i - 1)
		row[i] = row[i - 1] + i;
#pragma omp ordered depend(source)
	}
	return row[63];
}

static long worksharing()
{
	long a = 0, b = 0, c = 0;

#pragma omp parallel
	{
		long mine = 0;

#pragma omp for schedule(dynamic, 3) nowait
		for (int i = 0; i < 100; i++) {
#pragma omp atomic
			a += i;
		}
#pragma omp sections
		{
#pragma omp section
			{
#pragma omp atomic
				b += 1;
			}
#pragma omp section
			{
#pragma omp atomic
				b += 2;
			}
		}
#pragma omp single copyprivate(mine)
		mine = 5;
#pragma omp critical(same)
		c += mine;
#pragma omp barrier
	}
	return a + b + c / omp_get_max_threads();
}

static long cancelled()
{
	long found = 0;

#pragma omp parallel
	{
#pragma omp for
		for (int i = 0; i < 1000; i++) {
			if (i == 500) {
#pragma omp atomic write
				found = 1;
#pragma omp cancel for
			}
#pragma omp cancellation point for
		}
	}
#pragma omp parallel
	{
		if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
		}
#pragma omp cancellation point parallel
	}
	return found + sum(10);
}

static long thrown()
{
	long caught = 0;

#pragma omp parallel reduction(+ : caught)
	{
		try {
			throw std::runtime_error("in a region");
		} catch (const std::runtime_error &) {
			caught++;
		}
#pragma omp task shared(caught)
		try {
			throw 1;
		} catch (int) {
		}
	}
	return caught / omp_get_max_threads();
}

static long nested()
{
	long count = 0;

	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(3)
	{
#pragma omp atomic
		count++;
	}
	omp_set_max_active_levels(1);
	return count;
}

/* A child has one thread, and may use OpenMP only if its parent has not; it ends at once. */
static int status_of(int child)
{
	int status = -1;

	waitpid(child, &status, 0);
	return status;
}

static long forked()
{
	long codes = 0;
	pid_t child;

#pragma omp parallel num_threads(2) reduction(+ : codes)
	{
		pid_t mine = fork();

		if (!mine)
			_exit(3);
		codes += WEXITSTATUS(status_of(mine));
	}
	child = fork();
	if (!child)
		_exit(4);
	return codes + WEXITSTATUS(status_of(child)) + sum(10);
}

static long locks()
{
	omp_nest_lock_t nest;
	omp_lock_t lock;
	long count = 0, tries = 0;

	omp_init_lock(&lock);
	omp_init_nest_lock(&nest);
#pragma omp parallel reduction(+ : tries)
	for (int i = 0; i < 200; i++) {
		omp_set_lock(&lock);
		count++;
		omp_unset_lock(&lock);
		while (!omp_test_lock(&lock))
			;
		tries++;
		omp_unset_lock(&lock);
		omp_set_nest_lock(&nest);
		tries += omp_test_nest_lock(&nest) == 2;
		omp_unset_nest_lock(&nest);
		omp_unset_nest_lock(&nest);
	}
	omp_destroy_lock(&lock);
	omp_destroy_nest_lock(&nest);
	return (count + tries) / omp_get_max_threads();
}

static long threads()
{
	std::vector<std::thread> all;
	long total = 0;

	for (int i = 0; i < 4; i++)
		all.emplace_back([&total, i] {
			long mine = sum(100 + i);
#pragma omp atomic
			total += mine;
		});
	for (auto &each : all)
		each.join();
	return total;
}

static long regions()
{
	long count = 0;

	for (int i = 0; i < 300; i++) {
#pragma omp parallel num_threads(1 + i % 4) reduction(+ : count)
		count++;
	}
	return count;
}

/* A lock may be the last of the memory that there is. */
static long at_the_end()
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = static_cast<char *>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	auto *lock = reinterpret_cast<omp_lock_t *>(memory + page) - 1;

	if (memory == MAP_FAILED || mprotect(memory + page, page, PROT_NONE))
		return -1;
	omp_init_lock(lock);
	for (int i = 0; i < 100; i++) {
		omp_set_lock(lock);
		omp_unset_lock(lock);
	}
	omp_destroy_lock(lock);
	return munmap(memory, 2 * page);
}

static void print(const char *what, long value)
{
	printf("%s %ld\n", what, value);
	fflush(stdout); /* a child must not have it */
}

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
	auto there = library ? reinterpret_cast<long (*)(int)>(dlsym(library, "plugin")) : nullptr;

	errno = 4321;
	print("sum", sum(1000));
	print("plugin", there ? there(1000) : -1);
	print("tasks", task_results());
	print("many rounds", many_rounds());
	print("dependences", dependences());
	print("detached", detached());
	print("ordered", ordered_loops());
	print("doacross", doacross());
	print("worksharing", worksharing());
	print("cancelled", cancelled());
	print("thrown", thrown());
	print("nested", nested());
	print("locks", locks());
	print("at the end", at_the_end());
	print("threads", threads());
	print("regions", regions());
	print("forked", forked());
	return 7;
}
