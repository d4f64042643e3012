/* submit.c - takes requests in: idempotent by id, bounded, published when accepted. */
#include "scheduler/core/scheduler_state.h"

#include "common/base/time_units.h"
#include "scheduler/core/intake.h"

/* Who is told to wait longer than this does not come back. */
#define RETRY_AFTER_S_MAX 600

static bool owner_equal(const struct request_record *record, struct span owner_key)
{
    static const uint8_t nobody[OWNER_KEY_BYTES];
    const void *owner = owner_key.size == 0 ? (const void *)nobody : owner_key.data;
    return memcmp(record->owner_key, owner, OWNER_KEY_BYTES) == 0;
}

/* An earlier record of this id and choice: the same owner's; or another owner's at the
 * same frontend, whose events the wire could not tell apart. */
static uint32_t find_earlier(const struct scheduler *scheduler,
                             const struct submit_request *submit)
{
    uint32_t cursor = 0, record, other = RECORD_NONE;
    while ((record = record_index_find(scheduler->derived->index, submit->id,
                                       submit->choice, &cursor)) != RECORD_NONE) {
        const struct request_record *request = &scheduler->control.records[record];
        if (owner_equal(request, submit->owner_key))
            return record;
        if (request->frontend == submit->frontend)
            other = record;
    }
    return other;
}

static enum status answer_again(const struct scheduler *scheduler, uint32_t record,
                                const struct submit_request *submit, struct fault *fault)
{
    const struct request_record *request = &scheduler->control.records[record];
    if (owner_equal(request, submit->owner_key) &&
        memcmp(request->body_digest, submit->body_digest.data,
               sizeof request->body_digest) == 0)
        return STATUS_OK;
    return fault_set(fault, STATUS_CONFLICT, "id",
                     "request id '%.*s' is in use for another request; choose a new id",
                     (int)submit->id.size, submit->id.data);
}

/* When a quarter of the queue will have moved on, at the pace of the last ends: sooner
 * than its whole length, so that capacity is not left idle, and spread by it. */
static uint32_t retry_after_s(const struct scheduler *scheduler)
{
    uint64_t places = scheduler->derived->waiting.count / 4 + 1;
    uint64_t wait_s = places * scheduler->finish_interval_ns / NS_PER_S + 1;
    return wait_s < RETRY_AFTER_S_MAX ? (uint32_t)wait_s : RETRY_AFTER_S_MAX;
}

static enum status overloaded(const struct scheduler *scheduler, uint32_t *retry_s,
                              struct fault *fault)
{
    *retry_s = retry_after_s(scheduler);
    return fault_set(fault, STATUS_OVERLOADED, "",
                     "%u requests are waiting already, try again in %u s",
                     scheduler->derived->waiting.count, *retry_s);
}

/* A free record with an extent, at the cost of ended ones where need be. */
static enum status take_record(struct scheduler *scheduler,
                               const struct submit_request *submit, uint32_t *record,
                               uint32_t *retry_s, struct fault *fault)
{
    struct derived *derived = scheduler->derived;
    while (derived->free.count == 0)
        if (!scheduler_reclaim_done(scheduler))
            return overloaded(scheduler, retry_s, fault);
    struct request_record *request = &scheduler->control.records[derived->free.head];
    intake_describe(request, submit, scheduler->geometry->block_size);
    if (request->extent_pages_count > scheduler->geometry->heap_pages_count)
        return fault_set(fault, STATUS_TOO_LARGE, "",
                         "the request needs %u pages of the records' heap, which has %u",
                         request->extent_pages_count,
                         scheduler->geometry->heap_pages_count);
    for (;;) {
        request->extent_page =
            heap_pages_take(derived->heap, request->extent_pages_count);
        if (request->extent_page != HEAP_PAGE_NONE)
            break;
        if (!scheduler_reclaim_done(scheduler))
            return overloaded(scheduler, retry_s, fault);
    }
    *record = queue_pop(&derived->free);
    return STATUS_OK;
}

static void publish(struct scheduler *scheduler, uint32_t record,
                    const struct submit_request *submit, uint64_t seed, uint64_t now_ns)
{
    struct derived *derived = scheduler->derived;
    struct request_record *request = &scheduler->control.records[record];
    intake_fill(&scheduler->control, request, submit);
    request->use++;
    request->submit_number = derived->next_submit_number++;
    request->arrived_ns = now_ns;
    if (!submit->has_seed)
        request->sampling.seed = seed;
    scheduler_begin_chain(scheduler, request, submit->cache_salt);
    if (submit->timeout_ms != 0)
        request->deadline_ns = now_ns + submit->timeout_ms * NS_PER_MS;
    request_move(request, REQUEST_WAITING);
    queue_insert(&derived->waiting, record, derived_waits_before, derived);
    record_index_add(derived->index, record);
    scheduler->end_told[record] = false;
    wait_clock_read(&scheduler->wait_clock, now_ns, scheduler->waits_at_arrival[record]);
    uint64_t expiry_ns = scheduler_expiry_ns(scheduler, record);
    if (expiry_ns < scheduler->next_expiry_ns)
        scheduler->next_expiry_ns = expiry_ns;
    scheduler->counters.prompt_tokens += request->prompt_tokens_count;
    flight_record(&scheduler->control,
                  (struct flight_event){.time_ns = now_ns,
                                        .kind = FLIGHT_SUBMIT,
                                        .record = record,
                                        .a = request->prompt_tokens_count,
                                        .b = request->max_tokens});
}

static enum status accept(struct scheduler *scheduler,
                          const struct submit_request *submit, uint64_t seed,
                          uint64_t now_ns, uint32_t *record, uint32_t *retry_s,
                          struct fault *fault)
{
    if (scheduler->draining) {
        *retry_s = 1;
        return fault_set(fault, STATUS_UNAVAILABLE, "",
                         "the server is stopping and takes no new requests");
    }
    if (scheduler->derived->waiting.count >= scheduler->options.waiting_max)
        return overloaded(scheduler, retry_s, fault);
    enum status status = take_record(scheduler, submit, record, retry_s, fault);
    if (status == STATUS_OK)
        publish(scheduler, *record, submit, seed, now_ns);
    return status;
}

enum status scheduler_submit(struct scheduler *scheduler,
                             const struct submit_request *submit, uint64_t seed,
                             uint64_t now_ns, uint32_t *record, uint32_t *retry_s,
                             struct fault *fault)
{
    *retry_s = 0;
    enum status status = intake_check(submit, scheduler->geometry, fault);
    if (status == STATUS_OK) {
        *record = find_earlier(scheduler, submit);
        if (*record != RECORD_NONE)
            return answer_again(scheduler, *record, submit, fault);
        status = accept(scheduler, submit, seed, now_ns, record, retry_s, fault);
    }
    scheduler->counters.received++;
    scheduler->counters.rejected += status != STATUS_OK;
    return status;
}
