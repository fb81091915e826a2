/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/process.h - process rows: claim, end, reuse
 *
 *   FREE -> CLAIMED -> RUNNING -> ENDED             its end was seen
 *                      RUNNING -> EXECED -> RUNNING another program, which joined
 *                      RUNNING, EXECED -> GONE      its parent was told so
 *
 * Of many processes that were waited for only CPA_PROCESSES_KEPT keep their rows. The others are
 * added to the row of their command, and theirs are used again, once nothing is wanted of them.
 */
#ifndef CPA_SHADOW_EDGE_PROCESS_H
#define CPA_SHADOW_EDGE_PROCESS_H

#include "shadow/store/self.h"
#include "shadow/store/table.h"

static inline struct cpa_process_row *cpa_process(uint32_t number)
{
	return cpa_row(CPA_TABLE_PROCESSES, number);
}

/* A row for a process to come, a child of row @parent (0: not known). 0: no space, counted. */
CPA_HIDDEN uint32_t cpa_process_claim(uint32_t parent);

/* No process was made of it, or all is known of it. */
CPA_HIDDEN void cpa_process_free(uint32_t number);

/*
 * The row of the child of row @parent that is @pid to it and was not waited for. Of several, of
 * which all but one have ended without a wait that we saw, the latest. 0: none.
 */
CPA_HIDDEN uint32_t cpa_process_find(uint32_t pid, uint32_t parent);

/*
 * The row of whoever is @pid to itself, in pid namespace @space (0: not known), if it has not
 * ended. So above.
 */
CPA_HIDDEN uint32_t cpa_process_self(uint32_t pid, uint32_t space);

/*
 * Row @number is a child of whoever is @pid to it, whose row there is, or will be. Return that if
 * there is. Who makes it later, and has told its pid, adopts
 * those that were seen since @since_ns: before, the pid was another's.
 */
CPA_HIDDEN uint32_t cpa_process_of_parent(uint32_t number, uint32_t pid);
CPA_HIDDEN void cpa_process_adopt(uint32_t parent, uint64_t since_ns);

/* The thread to come is one of process row @number: that may end before it begins. */
CPA_HIDDEN void cpa_process_claims(struct cpa_thread *row, uint32_t number);

/* The thread begins in process row @number; it gives what it did since to the process. */
CPA_HIDDEN void cpa_process_enter(struct cpa_thread *row, uint32_t number);
CPA_HIDDEN void cpa_process_give(struct cpa_thread *row);

/* The process was waited for: nobody wants its threads any more. Not by one of its own. */
CPA_HIDDEN void cpa_process_waited(struct cpa_self *self, uint32_t number, int status);

/* The last child of row @parent that ended between the clocks and was not waited for. 0: none. */
CPA_HIDDEN uint32_t cpa_process_ended(uint32_t parent, uint64_t since, uint64_t before);

/* The row of the child of row @parent that took @token, which was offered. 0: none did. */
CPA_HIDDEN uint32_t cpa_process_taker(uint32_t token, uint32_t parent);

/*
 * The latest other row of the pid and the parent that row @number has, which are told before. 0:
 * none.
 */
CPA_HIDDEN uint32_t cpa_process_twin(uint32_t number);

/* Row @number is of whoever is @pid to itself. */
CPA_HIDDEN void cpa_process_call(uint32_t number, uint32_t pid);

/*
 * The child @pid has the row its parent made; or the parent frees it. False: the other was first.
 */
CPA_HIDDEN bool cpa_process_occupy(uint32_t number, uint32_t pid);
CPA_HIDDEN bool cpa_process_vacate(uint32_t number);

/* What it was to begin after is nobody's any more. */
CPA_HIDDEN void cpa_process_drop_token(struct cpa_self *self, uint32_t number);

#endif
