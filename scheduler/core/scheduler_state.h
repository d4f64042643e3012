/* scheduler_state.h - what the files of the scheduler share with one another. Internal.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_SCHEDULER_STATE_H
#define ROPEWAY_SCHEDULER_CORE_SCHEDULER_STATE_H

#include "scheduler/core/boundary.h"
#include "scheduler/core/flight.h"
#include "scheduler/core/prefix_chain.h"
#include "scheduler/core/request.h"
#include "scheduler/core/scheduler.h"

/* How long the queue's head, and so all behind it, has been refused for each reason. A
 * request's waits are the clock's readings at its admission less those at its arrival:
 * no turn needs to touch those that wait. */
struct wait_clock {
    enum block_reason reason; /* the last boundary's */
    uint64_t since_ns;
    uint64_t total_ns[BLOCK_REASONS];
};

struct scheduler {
    struct control control;
    const struct geometry *geometry;
    struct scheduler_options options;
    struct derived *derived;
    struct derived *rebuilt; /* scheduler_check's */
    struct queue news;
    struct queue_node *news_nodes;
    bool *end_told;                              /* [records_count] */
    uint64_t (*waits_at_arrival)[BLOCK_REASONS]; /* [records_count] */
    struct iteration_request *active;            /* [slots] */
    struct iteration_request *candidates;        /* [slots + 1] */
    struct iteration_request *batch;             /* [2 * slots + 1]: room for both */
    struct wait_clock wait_clock;
    uint64_t next_expiry_ns; /* no request's time is up before this */
    uint64_t last_finish_ns;
    uint64_t finish_interval_ns; /* between two ends, averaged; 0: not known */
    bool draining;
    struct scheduler_counters counters;
};

/* wait_clock.c */
void wait_clock_read(const struct wait_clock *clock, uint64_t now_ns,
                     uint64_t total_ns[BLOCK_REASONS]);
void wait_clock_set(struct wait_clock *clock, enum block_reason reason, uint64_t now_ns);

/* A waiting request's first blocks that are cached; and the first of these, up to one
 * that is idle, that others hold: behind an idle one, which may be given up for somebody
 * else before this request joins, nothing is found for certain. */
struct prefix_hits {
    uint32_t blocks_count, held_count;
};

/* reuse.c: at submit, before the record is published. */
void scheduler_begin_chain(struct scheduler *scheduler, struct request_record *record,
                           struct span salt);
/* Notes those that it finds in the record's block table, which is not in use yet. */
struct prefix_hits scheduler_find_prefix(const struct scheduler *scheduler,
                                         const struct request_record *record);
/* All blocks of its capacity: those that are cached, and others for the rest. */
void scheduler_reserve_blocks(struct scheduler *scheduler, struct request_record *record);
/* Caches the blocks that are full by committed steps. */
void scheduler_offer_blocks(struct scheduler *scheduler, struct request_record *record);
void scheduler_release_blocks(struct scheduler *scheduler, struct request_record *record,
                              uint64_t now_ns);

/* Moves the record to its end and tells of it. Lists and blocks follow with
 * scheduler_retire, once nothing in flight uses them. */
void scheduler_finish(struct scheduler *scheduler, uint32_t record,
                      enum finish_reason reason, uint64_t now_ns);
void scheduler_fail(struct scheduler *scheduler, uint32_t record, enum status status,
                    const char *sentence, uint64_t now_ns);
void scheduler_retire(struct scheduler *scheduler, uint32_t record);

/* Adds the waits since arrival to the record, when it stops waiting. */
void scheduler_account_wait(struct scheduler *scheduler, uint32_t record,
                            uint64_t now_ns);

/* Frees the ended record that was told and ended first; false when there is none. */
bool scheduler_reclaim_done(struct scheduler *scheduler);

/* When the request's time is up: UINT64_MAX for never. */
uint64_t scheduler_expiry_ns(const struct scheduler *scheduler, uint32_t record);

void scheduler_tell(struct scheduler *scheduler, uint32_t record);

#endif
