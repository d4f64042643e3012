/* ending.c - how requests end: cancelled, failed, timed out, completed; and are
 * forgotten.
 */
#include "scheduler/core/scheduler_state.h"

#include "common/base/invariant.h"
#include <stdio.h>

/* A new interval between two ends weighs an eighth in their average. */
#define INTERVAL_WEIGHT 8

void scheduler_tell(struct scheduler *scheduler, uint32_t record)
{
    if (!queue_holds(&scheduler->news, record))
        queue_push(&scheduler->news, record);
}

void scheduler_account_wait(struct scheduler *scheduler, uint32_t record, uint64_t now_ns)
{
    uint64_t total_ns[BLOCK_REASONS];
    wait_clock_read(&scheduler->wait_clock, now_ns, total_ns);
    for (uint32_t reason = 0; reason < BLOCK_REASONS; reason++) {
        uint64_t waited_ns =
            total_ns[reason] - scheduler->waits_at_arrival[record][reason];
        scheduler->control.records[record].waited_ns[reason] += waited_ns;
        scheduler->counters.waited_ns[reason] += waited_ns;
    }
}

static void measure_interval(struct scheduler *scheduler, uint64_t now_ns)
{
    if (scheduler->last_finish_ns != 0) {
        uint64_t interval_ns = now_ns - scheduler->last_finish_ns;
        uint64_t known_ns = scheduler->finish_interval_ns;
        scheduler->finish_interval_ns =
            known_ns == 0
                ? interval_ns
                : known_ns - known_ns / INTERVAL_WEIGHT + interval_ns / INTERVAL_WEIGHT;
    }
    scheduler->last_finish_ns = now_ns;
}

void scheduler_finish(struct scheduler *scheduler, uint32_t record,
                      enum finish_reason reason, uint64_t now_ns)
{
    struct request_record *request = &scheduler->control.records[record];
    if (request_state(request) == REQUEST_WAITING)
        scheduler_account_wait(scheduler, record, now_ns);
    request->finish_reason = (uint8_t)reason;
    request->finished_ns = now_ns;
    request_move(request, REQUEST_DONE);
    scheduler->counters.finished[reason]++;
    measure_interval(scheduler, now_ns);
    flight_record(&scheduler->control,
                  (struct flight_event){.time_ns = now_ns,
                                        .kind = FLIGHT_FINISH,
                                        .record = record,
                                        .a = reason,
                                        .b = request_generated_count(request)});
    scheduler_tell(scheduler, record);
}

void scheduler_fail(struct scheduler *scheduler, uint32_t record, enum status status,
                    const char *sentence, uint64_t now_ns)
{
    struct request_record *request = &scheduler->control.records[record];
    request->failure_status = (uint8_t)status;
    snprintf(request->failure, sizeof request->failure, "%s", sentence);
    scheduler_finish(scheduler, record, FINISH_FAILED, now_ns);
}

/* Gives up the blocks of an ended request and lists it with the ended ones. */
void scheduler_retire(struct scheduler *scheduler, uint32_t record)
{
    struct derived *derived = scheduler->derived;
    struct request_record *request = &scheduler->control.records[record];
    INVARIANT(derived->record_step[record] == STEP_NONE);
    if (queue_holds(&derived->waiting, record)) {
        queue_remove(&derived->waiting, record);
    } else {
        queue_remove(&derived->running, record);
        scheduler_release_blocks(scheduler, request, request->finished_ns);
    }
    queue_push(&derived->done, record);
}

void scheduler_cancel(struct scheduler *scheduler, uint32_t record,
                      enum finish_reason reason, uint64_t now_ns)
{
    struct request_record *request = &scheduler->control.records[record];
    INVARIANT(reason != FINISH_NONE && reason < FINISH_REASONS);
    if (request_state(request) == REQUEST_DONE || request->cancel_requested)
        return;
    request->cancel_requested = (uint8_t)reason;
    if (scheduler->derived->record_step[record] != STEP_NONE)
        return;
    scheduler_finish(scheduler, record, reason, now_ns);
    scheduler_retire(scheduler, record);
}

static void forget(struct scheduler *scheduler, uint32_t record)
{
    struct derived *derived = scheduler->derived;
    struct request_record *request = &scheduler->control.records[record];
    record_index_remove(derived->index, record);
    request_move(request, REQUEST_FREE);
    heap_pages_release(derived->heap, request->extent_page, request->extent_pages_count);
    queue_remove(&derived->done, record);
    queue_push(&derived->free, record);
    if (queue_holds(&scheduler->news, record))
        queue_remove(&scheduler->news, record);
}

bool scheduler_reclaim_done(struct scheduler *scheduler)
{
    const struct queue *done = &scheduler->derived->done;
    for (uint32_t record = done->head; record != QUEUE_END;
         record = queue_next(done, record)) {
        if (scheduler->end_told[record]) {
            forget(scheduler, record);
            return true;
        }
    }
    return false;
}

static void forget_old(struct scheduler *scheduler, uint64_t now_ns)
{
    const struct queue *done = &scheduler->derived->done;
    uint32_t record = done->head;
    while (record != QUEUE_END) {
        uint32_t next = queue_next(done, record);
        const struct request_record *request = &scheduler->control.records[record];
        if (now_ns - request->finished_ns < scheduler->options.done_kept_ns)
            return; /* the rest ended later still */
        if (scheduler->end_told[record])
            forget(scheduler, record);
        record = next;
    }
}

uint64_t scheduler_expiry_ns(const struct scheduler *scheduler, uint32_t record)
{
    const struct request_record *request = &scheduler->control.records[record];
    uint64_t expiry_ns = request->deadline_ns != 0 ? request->deadline_ns : UINT64_MAX;
    uint64_t queue_end_ns = request->arrived_ns + scheduler->options.queue_wait_ns;
    if (request_state(request) == REQUEST_WAITING && queue_end_ns < expiry_ns)
        return queue_end_ns;
    return expiry_ns;
}

/* Ends those of a queue whose time is up; returns when the next one's will be. */
static uint64_t expire(struct scheduler *scheduler, const struct queue *queue,
                       uint64_t now_ns)
{
    uint64_t next_ns = UINT64_MAX;
    uint32_t record = queue->head;
    while (record != QUEUE_END) {
        uint32_t next = queue_next(queue, record);
        uint64_t expiry_ns = scheduler_expiry_ns(scheduler, record);
        if (expiry_ns <= now_ns)
            scheduler_cancel(scheduler, record, FINISH_TIMED_OUT, now_ns);
        else if (expiry_ns < next_ns)
            next_ns = expiry_ns;
        record = next;
    }
    return next_ns;
}

void scheduler_tidy(struct scheduler *scheduler, uint64_t now_ns)
{
    forget_old(scheduler, now_ns);
    if (now_ns < scheduler->next_expiry_ns)
        return;
    uint64_t waiting_ns = expire(scheduler, &scheduler->derived->waiting, now_ns);
    uint64_t running_ns = expire(scheduler, &scheduler->derived->running, now_ns);
    scheduler->next_expiry_ns = waiting_ns < running_ns ? waiting_ns : running_ns;
}
