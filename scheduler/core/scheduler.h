/* scheduler.h - the scheduling core's facade: submit, cancel, plan, commit, check.
 *
 * Layer:   scheduler/core (pure: no I/O, no clock, no allocation after create). The same
 *          code runs in production, tests, simulation and replay: time and random numbers
 *          are parameters, shared memory is any memory that layout_format prepared.
 * Thread:  one.
 * Loop:    plan(worker) fills a step and posts it; the worker runs it; commit(step)
 *          settles it. In between anything may be submitted, cancelled or expired. At
 *          each boundary: release, running ones, admission, report (boundary.h).
 * Owner:   control is borrowed and outlives the scheduler. Destroying the scheduler
 *          leaves every record as it stands: a new one, created over the same control,
 *          goes on.
 * Poison:  after a worker's death the sequences of its step run again in halves; a
 *          request whose steps of its own are lost twice is failed, and no other.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_SCHEDULER_H
#define ROPEWAY_SCHEDULER_CORE_SCHEDULER_H

#include "proto/message.h"
#include "scheduler/core/derived.h"

/* Deaths in a step of its own after which a request is failed. */
#define DEATHS_ALONE_MAX 2

struct scheduler;

/* Slots are the geometry's step_sequences_max, the token budget its step_rows_max. */
struct scheduler_options {
    const char *policy;
    uint32_t prefill_chunk;
    uint32_t waiting_max;   /* more are refused */
    uint64_t queue_wait_ns; /* longer ends as timed out */
    uint64_t done_kept_ns;  /* how long an ended request's record is kept */
    uint64_t secret;        /* keys the indexes of ids and of cached blocks */
    bool prefix_caching;
};

struct scheduler_counters {
    uint64_t received, rejected, finished[FINISH_REASONS];
    uint64_t prompt_tokens, generation_tokens;
    uint64_t prefix_queries, prefix_hits; /* tokens looked up at admission, and found */
    uint64_t iterations, replayed_steps;
    uint64_t waited_ns[BLOCK_REASONS];
};

/* blocks_free: those that no request holds, cached ones among them. */
struct scheduler_counts {
    uint32_t running, waiting, done, blocks_free, slots;
};

/* Reads whatever the records say and goes on with it. Refuses a token budget below
 * prefill_chunk + slots, with which progress is not certain, and an unknown policy. */
enum status scheduler_create(struct scheduler **scheduler, const struct control *control,
                             const struct scheduler_options *options,
                             struct fault *fault);
void scheduler_destroy(struct scheduler *scheduler);

/* Takes a request in; once STATUS_OK is returned its record is published. Again with the
 * same id, choice, owner and digest it finds the same record, whatever became of it; with
 * another digest it is STATUS_CONFLICT. seed is used where the client gave none.
 * retry_after_s is set with STATUS_OVERLOADED and STATUS_UNAVAILABLE. */
enum status scheduler_submit(struct scheduler *scheduler,
                             const struct submit_request *submit, uint64_t seed,
                             uint64_t now_ns, uint32_t *record, uint32_t *retry_after_s,
                             struct fault *fault);

/* Another frontend's polls carry the record's events from now on. */
void scheduler_set_frontend(struct scheduler *scheduler, uint32_t record,
                            uint64_t frontend);

/* The record of that id and choice, one of that frontend first; RECORD_NONE. */
uint32_t scheduler_find(const struct scheduler *scheduler, uint64_t frontend,
                        struct span id, uint32_t choice);

/* Ends the request with reason: at once, or at the next boundary when it is in flight.
 * No token is added to it after this returns. Nothing when it has ended already. */
void scheduler_cancel(struct scheduler *scheduler, uint32_t record,
                      enum finish_reason reason, uint64_t now_ns);

/* Fills and posts the next step of an idle worker; STEP_NONE when nothing can run. The
 * caller rings the worker. */
uint32_t scheduler_plan(struct scheduler *scheduler, uint32_t worker, uint64_t now_ns);

/* Settles a step that its worker has marked done; false when its results are not those of
 * the step posted, which is then still in flight. */
bool scheduler_commit(struct scheduler *scheduler, uint32_t step, uint64_t now_ns);

/* The worker is proven dead: a step that it had done is settled, one that it had not is
 * given up, and its sequences will run again. */
void scheduler_worker_died(struct scheduler *scheduler, uint32_t worker, uint64_t now_ns);

/* Slot of the step in flight at worker, or STEP_NONE. */
uint32_t scheduler_worker_step(const struct scheduler *scheduler, uint32_t worker);

/* Ends what has waited or lasted too long, and forgets ended records that were told and
 * kept long enough. Cheap when nothing is due. */
void scheduler_tidy(struct scheduler *scheduler, uint64_t now_ns);

/* The next record that got tokens or ended since it was last returned here; RECORD_NONE
 * when there is no more news. */
uint32_t scheduler_next_news(struct scheduler *scheduler);

/* The frontend of an ended request knows of its end, or is gone for good: the record may
 * be forgotten in time. Or, with false, a new frontend has yet to be told. */
void scheduler_set_end_told(struct scheduler *scheduler, uint32_t record, bool told);

/* While draining, submit refuses everything new. */
void scheduler_set_draining(struct scheduler *scheduler, bool draining);

struct scheduler_counts scheduler_counts(const struct scheduler *scheduler);
const struct scheduler_counters *scheduler_counters(const struct scheduler *scheduler);

/* Builds all derived state anew from shared memory and compares. For tests and tools:
 * takes time in proportion to the pool. */
enum status scheduler_check(struct scheduler *scheduler, struct fault *fault);

#endif
