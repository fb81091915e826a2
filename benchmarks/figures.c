/* SPDX-License-Identifier: MIT */
/* benchmarks/figures.c - counters of a dump that the report does not print, as a line of JSON */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shadow/format/layout.h"

static const char *base;

static const void *row(const struct cpa_table *table, uint32_t number)
{
	uint64_t first = 0, size = table->first_rows;

	for (unsigned chunk = 0; chunk < CPA_CHUNKS; chunk++, size *= 2) {
		if (number - 1 < first + size)
			return base + table->chunk[chunk] + (number - 1 - first) * table->row_size;
		first += size;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct cpa_table *threads;
	const struct cpa_header *h;
	uint64_t events = 0;
	struct stat status;
	int fd;

	if (argc != 2 || (fd = open(argv[1], O_RDONLY | O_CLOEXEC)) < 0 || fstat(fd, &status))
		return 1;
	base = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return 1;
	h = (const struct cpa_header *)base;
	if (memcmp(h->magic, CPA_MAGIC, sizeof(h->magic)) != 0 || h->format != CPA_FORMAT)
		return 1;
	threads = &h->table[CPA_TABLE_THREADS];
	for (uint32_t i = 1; i <= threads->used; i++)
		events += ((const struct cpa_thread *)row(threads, i))->events;
	printf("{\"used\": %lu, \"disk\": %lu, \"events\": %lu, \"untimed\": %lu, \"slow\": %lu, "
	       "\"samples\": %lu, \"clock\": %u, \"started\": %lu, \"threads\": %u, "
	       "\"objects\": %u, \"components\": %u, \"slots\": %u}\n",
	       h->used, (uint64_t)status.st_blocks * 512, events, h->diag[CPA_DIAG_UNTIMED],
	       h->diag[CPA_DIAG_CLOCK_SLOW], h->diag[CPA_DIAG_SAMPLES], h->clock, h->started,
	       threads->used, h->table[CPA_TABLE_OBJECTS].used, h->table[CPA_TABLE_COMPONENTS].used,
	       h->slots);
	return 0;
}
