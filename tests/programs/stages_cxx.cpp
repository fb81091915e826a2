/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stages_cxx.cpp - three stages with bounded buffers between them, in C++
 *
 * Four lines for cpa: the one that includes its header, and three that begin with CPA_.
 */
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/programs/stages.h"

#include "preload/cpa.h"

namespace
{

class buffer
{
      public:
	buffer()
	{
		CPA_QUEUE_LOCK(this, &lock);
	}

	void put(int value)
	{
		std::unique_lock<std::mutex> locked(lock);

		emptied.wait(locked, [this] { return count - taken < items.size(); });
		CPA_ENQUEUE(this, value);
		items[count++ % items.size()] = value;
		filled.notify_one();
	}

	int take()
	{
		std::unique_lock<std::mutex> locked(lock);

		filled.wait(locked, [this] { return count > taken; });
		int value = items[taken++ % items.size()];
		CPA_DEQUEUE(this, value);
		emptied.notify_one();
		return value;
	}

      private:
	std::mutex lock;
	std::condition_variable filled, emptied;
	std::array<int, STAGES_DEPTH> items;
	std::size_t count = 0, taken = 0;
};

buffer parsed, filtered;

void parser()
{
	for (int i = 0; i < STAGES_ITEMS; i++) {
		parse();
		parsed.put(i);
	}
}

void filterer()
{
	for (int i = 0; i < STAGES_ITEMS; i++) {
		int item = parsed.take();

		filter();
		filtered.put(item);
	}
}

void storer()
{
	for (int i = 0; i < STAGES_ITEMS; i++) {
		filtered.take();
		store();
	}
}

} // namespace

int main()
{
	std::thread first(parser), second(filterer), third(storer);

	first.join();
	second.join();
	third.join();
}
