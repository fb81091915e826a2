/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/process.h - process rows: claim, end, reuse
 *
 *   FREE -> CLAIMED -> RUNNING -> ENDED             it reported its end
 *                      RUNNING -> EXECED -> RUNNING another program, which joined
 *                      RUNNING, EXECED -> GONE      its parent learnt of its end
 *
 * Of the processes that were waited for CPA_PROCESSES_KEPT keep their rows, and of each command the latest one and
 * the one with most process time. Others are added to the row of their command; their rows are used again.
 */
#ifndef CPA_SHADOW_EDGE_PROCESS_H
#define CPA_SHADOW_EDGE_PROCESS_H

#include "shadow/store/self.h"
#include "shadow/store/table.h"

static inline struct cpa_process_row *cpa_process(uint32_t number)
{
	return cpa_row(CPA_TABLE_PROCESSES, number);
}

/* Claim a row for a new process, a child of row @parent (0: not known). 0: no space (counted). */
CPA_HIDDEN uint32_t cpa_process_claim(uint32_t parent);

/* Free row @number: its process was not created, or another row holds all its data. */
CPA_HIDDEN void cpa_process_free(uint32_t number);

/*
 * Return the row of the child of row @parent that has @pid from the parent's view and was not
 * waited for. If several match, all but one have ended without a wait that cpa saw: the latest of those
 * with keys up to @last. 0: none.
 */
CPA_HIDDEN uint32_t cpa_process_find(uint32_t pid, uint32_t parent, uint64_t last);

/* The call that made process row @number tells its parent the pid. Whether it did. */
CPA_HIDDEN void cpa_process_tell(uint32_t number);
CPA_HIDDEN bool cpa_process_is_told(uint32_t number);

/*
 * Return the row of the process that sees itself as @pid in pid namespace @space (0: not known) and
 * has not ended; if several match, the latest. 0: none.
 */
CPA_HIDDEN uint32_t cpa_process_self(uint32_t pid, uint32_t space);

/*
 * Make row @number a child of the process that it sees as @pid. Return that process's row; 0: it
 * has none yet. cpa_process_adopt(), called when the parent's row @parent has its pid, links the
 * children seen since @since_ns; before that the pid belonged to another process.
 */
CPA_HIDDEN uint32_t cpa_process_of_parent(uint32_t number, uint32_t pid);
CPA_HIDDEN void cpa_process_adopt(uint32_t parent, uint64_t since_ns);

/* Assign the future thread @row to process row @number, which may end before the thread begins. */
CPA_HIDDEN void cpa_process_claims(struct cpa_thread *row, uint32_t number);

/*
 * cpa_process_enter(): the thread begins in process row @number. cpa_process_give(): add the
 * thread's sums since then to its process.
 */
CPA_HIDDEN void cpa_process_enter(struct cpa_thread *row, uint32_t number);
CPA_HIDDEN void cpa_process_give(struct cpa_thread *row);

/*
 * The process was waited for, with @status (CPA_STATUS_UNKNOWN: not known): its threads' paths are no longer
 * needed. Not called by one of its own threads.
 */
CPA_HIDDEN void cpa_process_waited(struct cpa_self *self, uint32_t number, int status);

/*
 * Return the last child of row @parent that ended between the two clocks and was not waited for; 0:
 * none. It has no exit_thread if it ended in no part of the run.
 */
CPA_HIDDEN uint32_t cpa_process_ended(uint32_t parent, uint64_t since, uint64_t before);

/*
 * Return the first row behind row @behind of a child of row @parent that began after the clock @since, has not
 * ended and was not waited for; 0: none.
 */
CPA_HIDDEN uint32_t cpa_process_begun(uint32_t parent, uint64_t since, uint32_t behind);

/* Return the row of the child of row @parent that took the offered @token; 0: none. */
CPA_HIDDEN uint32_t cpa_process_taker(uint32_t token, uint32_t parent);

/*
 * Return the latest other row with the pid and parent of row @number, both of which must be set. 0:
 * none.
 */
CPA_HIDDEN uint32_t cpa_process_twin(uint32_t number);

/* Store in row @number that its process sees itself as @pid. */
CPA_HIDDEN void cpa_process_call(uint32_t number, uint32_t pid);

/*
 * cpa_process_occupy(): the child @pid takes the row that its parent made. cpa_process_vacate():
 * the parent frees that row. Only the first of the two succeeds; the other returns false.
 */
CPA_HIDDEN bool cpa_process_occupy(uint32_t number, uint32_t pid);
CPA_HIDDEN bool cpa_process_vacate(uint32_t number);

/* Free the token with the path that the process of row @number was to begin after. */
CPA_HIDDEN void cpa_process_drop_token(struct cpa_self *self, uint32_t number);

#endif
