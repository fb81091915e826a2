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

struct object {
	void by_member()
	{
		burn(1000000);
	}
};

int main()
{
	unsigned long n = 1000000;
	struct object o;
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
