/* SPDX-License-Identifier: MIT */
/* analysis/top/top_keys.c - the action of each key */
#include <stdlib.h>
#include <string.h>

#include "analysis/top/top_views.h"

#define PAGE 10 /* rows that PgUp and PgDn move */

static void choose_view(struct cpa_top *top, enum cpa_top_view view)
{
	top->view = view;
	top->selected = top->first = 0;
	top->detail = (struct cpa_top_key){ 0 };
	top->help = false;
}

static void move(struct cpa_top *top, int key)
{
	size_t at = top->selected;

	switch (key) {
	case CPA_KEY_UP:
		top->selected = at ? at - 1 : 0;
		break;
	case CPA_KEY_DOWN:
		top->selected = at + 1;
		break;
	case CPA_KEY_PAGE_UP:
		top->selected = at > PAGE ? at - PAGE : 0;
		break;
	case CPA_KEY_PAGE_DOWN:
		top->selected = at + PAGE;
		break;
	case CPA_KEY_HOME:
		top->selected = 0;
		break;
	default:
		/* The last row: cpa_top_draw() moves the cursor to an existing one. */
		top->selected = SIZE_MAX / 2;
	}
}

static void choose_column(struct cpa_top *top, size_t step)
{
	struct cpa_top_order *order = &top->order[top->view];
	size_t columns = cpa_top_table(top->view)->columns;

	order->column = (order->column + step) % columns;
	order->reversed = false;
}

static void erase_character(char *text)
{
	size_t length = strlen(text);

	while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
		length--;
	text[length ? length - 1 : 0] = '\0';
}

static void type(struct cpa_top *top, int key)
{
	size_t length = strlen(top->filter);

	if (key == CPA_KEY_ENTER) {
		top->typing = false;
	} else if (key == CPA_KEY_ESCAPE) {
		top->typing = false;
		top->filter[0] = '\0';
	} else if (key == CPA_KEY_BACKSPACE) {
		erase_character(top->filter);
	} else if (key >= ' ' && key < 256 && key != 127 && length + 1 < sizeof(top->filter)) {
		top->filter[length] = (char)key;
		top->filter[length + 1] = '\0';
	}
}

/* Close the innermost thing that is open. */
static void go_back(struct cpa_top *top)
{
	if (top->help)
		top->help = false;
	else if (top->detail.id)
		top->detail = (struct cpa_top_key){ 0 };
	else
		top->filter[0] = '\0';
}

/* Keys of a table view. */
static void press_table(struct cpa_top *top, int key)
{
	if (key == 's' || key == CPA_KEY_RIGHT)
		choose_column(top, 1);
	else if (key == CPA_KEY_LEFT)
		choose_column(top, cpa_top_table(top->view)->columns - 1);
	else if (key == 'r')
		top->order[top->view].reversed ^= true;
	else if (key == '/')
		top->typing = true;
	else if (key == CPA_KEY_ENTER)
		top->detail = top->at;
	else if (key >= CPA_KEY_UP && key <= CPA_KEY_END)
		move(top, key);
}

static void press_plain(struct cpa_top *top, int key)
{
	static const char letters[CPA_TOP_VIEWS + 1] = "clutmp";
	const char *letter = key > 0 && key < 128 ? strchr(letters, key) : NULL;

	if (key >= '1' && key < '1' + CPA_TOP_VIEWS)
		choose_view(top, (enum cpa_top_view)(key - '1'));
	else if (letter)
		choose_view(top, (enum cpa_top_view)(letter - letters));
	else if (key == '\t')
		choose_view(top, (top->view + 1) % CPA_TOP_VIEWS);
	else if (key == ' ')
		top->frozen = !top->frozen;
	else if (key == '?' || key == 'h')
		top->help = !top->help;
	else if (key == CPA_KEY_ESCAPE || key == CPA_KEY_BACKSPACE)
		go_back(top);
	else if (!top->help && !top->detail.id)
		press_table(top, key);
}

enum cpa_top_action cpa_top_press(struct cpa_top *top, int key)
{
	free(top->message);
	top->message = NULL;
	if (top->typing)
		type(top, key);
	else if (key == 'q')
		return CPA_TOP_QUIT;
	else if (key == 'w')
		return CPA_TOP_WRITE;
	else if (key == 'o')
		return CPA_TOP_OPEN;
	else
		press_plain(top, key);
	return CPA_TOP_STAY;
}
