/* SPDX-License-Identifier: MIT */
#include "preload/unwind/frame_table.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

/* DWARF exception header encodings (LSB, Core, 10.5.1), those that linkers write. */
#define ENC_UDATA4	   0x03
#define ENC_SDATA4	   0x0b
#define ENC_SDATA8	   0x0c
#define ENC_PCREL_SDATA4   0x1b
#define ENC_DATAREL_SDATA4 0x3b
#define ENC_OMIT	   0xff

#define PAGE	 4096u /* the first page of a module holds its headers */
#define ENTRY	 8u    /* bytes of an entry: start, description; both relative to the header */
#define AUGMENTS 8u    /* most letters of an augmentation */

const Elf64_Phdr *cpa_frame_headers(const struct dl_find_object *o, uint64_t *count)
{
	const char *name = o->dlfo_link_map->l_name;
	const ElfW(Ehdr) *elf = o->dlfo_map_start;

	if (!name || !*name) {
		*count = getauxval(AT_PHNUM);
		return (const ElfW(Phdr) *)getauxval(AT_PHDR);
	}
	*count = elf->e_phnum;
	if ((uint64_t)o->dlfo_map_end - (uint64_t)elf < PAGE ||
	    memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 || elf->e_phoff > PAGE ||
	    elf->e_phnum > PAGE / sizeof(ElfW(Phdr)) ||
	    elf->e_phoff + elf->e_phnum * sizeof(ElfW(Phdr)) > PAGE)
		return NULL;
	return (const void *)((const char *)elf + elf->e_phoff);
}

bool cpa_frame_segment(const struct dl_find_object *o, const uint8_t *address,
		       struct cpa_cursor *segment)
{
	uint64_t count;
	const ElfW(Phdr) *ph = cpa_frame_headers(o, &count);

	for (uint64_t i = 0; ph && i < count; i++) {
		const uint8_t *from = (const uint8_t *)o->dlfo_link_map->l_addr + ph[i].p_vaddr;

		if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_R) || address < from ||
		    address >= from + ph[i].p_filesz)
			continue;
		*segment = (struct cpa_cursor){ from, from + ph[i].p_filesz, false };
		return true;
	}
	return false;
}

bool cpa_frame_table_find(uint64_t address, struct cpa_frame_table *t)
{
	struct dl_find_object o;
	struct cpa_cursor c;
	uint64_t version, frame, count, table;

	if (address >> 47 || _dl_find_object((void *)address, &o) || !o.dlfo_eh_frame)
		return false;
	t->start = (uint64_t)o.dlfo_map_start;
	t->end = (uint64_t)o.dlfo_map_end;
	t->header = o.dlfo_eh_frame;
	if (!cpa_frame_segment(&o, t->header, &c))
		return false;
	t->from = c.at;
	t->to = c.end;
	c.at = t->header;
	version = cpa_cursor_number(&c, 1);
	frame = cpa_cursor_number(&c, 1);
	count = cpa_cursor_number(&c, 1);
	table = cpa_cursor_number(&c, 1);
	if (version != 1 || count != ENC_UDATA4 || table != ENC_DATAREL_SDATA4)
		return false;
	cpa_cursor_number(&c, (frame & 0x0f) == ENC_SDATA8 || (frame & 0x0f) == 0x04 ? 8 : 4);
	t->count = (uint32_t)cpa_cursor_number(&c, 4);
	t->entries = c.at;
	return t->count && cpa_cursor_has(&c, (uint64_t)t->count * ENTRY);
}

static int32_t entry_word(const struct cpa_frame_table *t, uint32_t i, unsigned word)
{
	int32_t value;

	memcpy(&value, t->entries + (uint64_t)i * ENTRY + 4 * (uint64_t)word, sizeof(value));
	return value;
}

/* A cursor at @address, to the end of the record of a length that begins there. */
static struct cpa_cursor record_at(const struct cpa_frame_table *t, const uint8_t *address)
{
	struct cpa_cursor c = { t->from, t->to, false };
	uint64_t length;

	if (address < t->from || address >= t->to)
		return (struct cpa_cursor){ t->to, t->to, true };
	c.at = address;
	length = cpa_cursor_number(&c, 4);
	if (!length || length == UINT32_MAX) /* the end; a record of 4 GiB or more */
		c.bad = true;
	return cpa_cursor_part(&c, length);
}

/* Read the augmentation data of a CIE. Return the encoding of its FDEs' addresses. */
static uint64_t read_augmentation(struct cpa_cursor *c, const char *letters,
				  struct cpa_frame_description *d)
{
	uint64_t encoding = 0, how;
	struct cpa_cursor data;

	if (*letters != 'z') {
		c->bad = *letters != 0;
		return encoding;
	}
	data = cpa_cursor_part(c, cpa_cursor_uleb(c));
	while (*++letters) {
		switch (*letters) {
		case 'R':
			encoding = cpa_cursor_number(&data, 1);
			break;
		case 'L':
			cpa_cursor_number(&data, 1);
			break;
		case 'P':
			how = cpa_cursor_number(&data, 1) & 0x0f;
			cpa_cursor_number(&data, how == ENC_SDATA4 || how == ENC_UDATA4 ? 4 : 8);
			break;
		case 'S':
			d->is_signal = true;
			break;
		default:
			data.bad = true;
		}
	}
	c->bad = c->bad || data.bad;
	return encoding;
}

static bool read_common(const struct cpa_frame_table *t, const uint8_t *cie,
			struct cpa_frame_description *d, uint64_t *encoding, bool *augmented)
{
	struct cpa_cursor c = record_at(t, cie);
	char letters[AUGMENTS + 1] = { 0 };
	uint64_t version;
	unsigned n = 0;

	if (cpa_cursor_number(&c, 4)) /* not a CIE */
		return false;
	version = cpa_cursor_number(&c, 1);
	while (n < AUGMENTS && (letters[n] = (char)cpa_cursor_number(&c, 1)))
		n++;
	d->code_unit = cpa_cursor_uleb(&c);
	d->data_unit = cpa_cursor_sleb(&c);
	d->return_column = version == 1 ? cpa_cursor_number(&c, 1) : cpa_cursor_uleb(&c);
	d->is_signal = false;
	*augmented = *letters == 'z';
	*encoding = n == AUGMENTS ? ENC_OMIT : read_augmentation(&c, letters, d);
	d->common = c;
	return !c.bad && (version == 1 || version == 3);
}

/* Read the FDE at @fde. */
static bool read_own(const struct cpa_frame_table *t, const uint8_t *fde,
		     struct cpa_frame_description *d)
{
	struct cpa_cursor c = record_at(t, fde);
	const uint8_t *here = c.at;
	uint64_t back = cpa_cursor_number(&c, 4), encoding;
	bool augmented;

	if (!back || c.bad || back > (uint64_t)(here - t->from) ||
	    !read_common(t, here - back, d, &encoding, &augmented) || encoding != ENC_PCREL_SDATA4)
		return false;
	d->start = (uint64_t)c.at;
	d->start += (uint64_t)cpa_cursor_signed(&c, 4);
	d->end = d->start + cpa_cursor_number(&c, 4);
	if (augmented)
		cpa_cursor_part(&c, cpa_cursor_uleb(&c));
	d->own = c;
	return !c.bad;
}

bool cpa_frame_description_find(const struct cpa_frame_table *t, uint64_t pc,
				struct cpa_frame_description *found)
{
	int64_t offset = (int64_t)(pc - (uint64_t)t->header);
	uint32_t low = 0, count = t->count;

	if (offset < entry_word(t, 0, 0))
		return false;
	while (count > 1) {
		uint32_t half = count / 2;

		if (entry_word(t, low + half, 0) <= offset)
			low += half;
		count -= half;
	}
	if ((int64_t)entry_word(t, low, 1) + (t->header - t->from) < 0)
		return false;
	return read_own(t, t->header + entry_word(t, low, 1), found) && pc >= found->start &&
	       pc < found->end;
}
