/* step_scheduler.h - the course's step-driven scheduler: waiting, running, finished.
 *
 * Layer:   scheduler/core (pure: no I/O, no clock, no allocation after create).
 * Source:  the course's names, rules and values, tested as it states them
 *          (tests/scheduler/course.json; docs/COURSE.md maps each name).
 * Shares:  queue.h keeps the order of waiting, and boundary.h decides who joins, what a
 *          token leaves to do and who leaves: the objects that production plans with. A
 *          step reads a whole prompt or one token, so a request is a token to the
 *          boundary; neither KV blocks nor the token budget bind.
 * Ids:     a request's number is its place in the list given; lists of such numbers that
 *          are returned are the scheduler's and stand until its next call of that name.
 */
#ifndef ROPEWAY_SCHEDULER_CORE_STEP_SCHEDULER_H
#define ROPEWAY_SCHEDULER_CORE_STEP_SCHEDULER_H

#include "scheduler/core/step_request.h"
#include <stdbool.h>

struct step_scheduler;

/* Where a step number would stand and there is none. */
#define STEP_NEVER (-1)

enum step_lifecycle { STEP_WAITING, STEP_RUNNING, STEP_FINISHED };

struct step_progress {
    enum step_lifecycle lifecycle;
    int64_t admitted_step; /* STEP_NEVER before */
    int64_t finished_step;
};

struct step_ids {
    const uint32_t *ids;
    uint32_t count;
};

struct step_record {
    int64_t step;
    struct step_ids admitted_request_ids;
    struct step_ids running_request_ids; /* before finish: with those that complete */
    struct step_ids completed_request_ids;
    uint32_t active_batch_size; /* of running_request_ids */
};

/* requests are borrowed and outlive the scheduler. An empty list is accepted. *at as in
 * step_requests_validate. */
enum status step_scheduler_create(struct step_scheduler **scheduler,
                                  const struct step_request *requests,
                                  uint32_t requests_count, int64_t max_batch_size,
                                  uint32_t *at, struct fault *fault);
void step_scheduler_destroy(struct step_scheduler *scheduler);

/* Whether anything waits or runs. */
bool step_scheduler_has_work(const struct step_scheduler *scheduler);

/* The arrival of the head of waiting, or STEP_NEVER. */
int64_t step_scheduler_next_arrival_step(const struct step_scheduler *scheduler);

/* Moves those that have arrived from waiting to running while there is room; returns
 * them. */
struct step_ids step_scheduler_admit(struct step_scheduler *scheduler, int64_t step);

/* Those that run, by the order of their admission. */
struct step_ids step_scheduler_running(struct step_scheduler *scheduler);

/* The position-th of running generated a token. True when that was its last: EOS, or its
 * max_new_tokens-th. It is then finished before the next admission. */
bool step_scheduler_take_token(struct step_scheduler *scheduler, uint32_t position,
                               bool is_eos);

/* Moves ids, all of which run, to finished. */
void step_scheduler_finish(struct step_scheduler *scheduler, struct step_ids ids,
                           int64_t step);

/* Keeps a copy of what happened in a step. Every step that is kept has generated a token
 * for each of running: more of them than max_new_tokens allow are an INVARIANT. */
void step_scheduler_record_step(struct step_scheduler *scheduler, int64_t step,
                                struct step_ids admitted, struct step_ids running,
                                struct step_ids completed);

const struct step_request *step_scheduler_requests(const struct step_scheduler *scheduler,
                                                   uint32_t *count);
const struct step_progress *
step_scheduler_progress(const struct step_scheduler *scheduler, uint32_t request);
const struct step_record *step_scheduler_records(const struct step_scheduler *scheduler,
                                                 uint32_t *count);
/* Of each record; as many as there are records. */
const uint32_t *step_scheduler_active_batch_sizes(const struct step_scheduler *scheduler);

#endif
