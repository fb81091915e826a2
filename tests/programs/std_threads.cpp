/* SPDX-License-Identifier: MIT */
/* tests/programs/std_threads.cpp - threads of C++ by each way to say what they run */
#include <future>
#include <thread>

static void burn(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		__asm__ volatile("" : : "r"(i));
}

static void by_function()
{
	burn(1000000);
}

static void by_function_with_argument(unsigned long n)
{
	burn(n);
}

static void by_callback(void (*call)(unsigned long), unsigned long n)
{
	call(n);
}

struct object {
	void by_member()
	{
		burn(1000000);
	}
};

/* In memory that another thread's state had, with that one's function still in it. */
static void after_another(unsigned long n)
{
	std::thread(by_function_with_argument, n).join();
	std::thread([&n] { burn(n); }).join();
}

int main()
{
	unsigned long n = 1000000;
	struct object o;

	after_another(n);
	std::thread(by_callback, by_function_with_argument, n).join();
	std::thread function(by_function), argument(by_function_with_argument, n);
	std::thread member(&object::by_member, &o), plain([] { burn(1000000); });
	std::thread capture([&n] { burn(n); });
	auto later = std::async(std::launch::async, [n] {
		burn(n);
		return 0;
	});

	function.join();
	argument.join();
	member.join();
	plain.join();
	capture.join();
	return later.get();
}
