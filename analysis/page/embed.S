/* SPDX-License-Identifier: MIT */
/* analysis/page/embed.S - the page around its data, as scripts/embed-page.sh made them */
	.section .rodata
	.globl cpa_page_head, cpa_page_middle, cpa_page_tail
cpa_page_head:
	.incbin "head.html"
	.byte 0
cpa_page_middle:
	.ascii "</script>\n<script type=\"text/plain\" id=\"events\">"
	.byte 0
cpa_page_tail:
	.incbin "tail.html"
	.byte 0
	.section .note.GNU-stack, "", %progbits
