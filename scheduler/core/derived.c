#include "scheduler/core/derived.h"

#include "scheduler/core/request.h"
#include <stdlib.h>

struct derived *derived_create(const struct control *control, const struct policy *policy,
                               uint64_t secret)
{
    const struct geometry *geometry = &control->header->geometry;
    struct derived *derived = calloc(1, sizeof *derived);
    if (derived == NULL)
        return NULL;
    derived->control = control;
    derived->policy = policy;
    derived->nodes = calloc(geometry->records_count, sizeof *derived->nodes);
    derived->record_step = calloc(geometry->records_count, sizeof *derived->record_step);
    derived->worker_step = calloc(geometry->workers_max, sizeof *derived->worker_step);
    derived->blocks = block_pool_create(geometry->blocks_count);
    if (derived->blocks != NULL)
        derived->cache = prefix_cache_create(control, derived->blocks, secret);
    derived->heap = heap_pages_create(geometry->heap_pages_count);
    derived->index =
        record_index_create(control->records, geometry->records_count, secret);
    if (derived->nodes == NULL || derived->record_step == NULL ||
        derived->worker_step == NULL || derived->blocks == NULL ||
        derived->cache == NULL || derived->heap == NULL || derived->index == NULL) {
        derived_destroy(derived);
        return NULL;
    }
    return derived;
}

void derived_destroy(struct derived *derived)
{
    if (derived == NULL)
        return;
    record_index_destroy(derived->index);
    heap_pages_destroy(derived->heap);
    prefix_cache_destroy(derived->cache);
    block_pool_destroy(derived->blocks);
    free(derived->worker_step);
    free(derived->record_step);
    free(derived->nodes);
    free(derived);
}

bool derived_waits_before(const void *context, uint32_t a, uint32_t b)
{
    const struct derived *derived = context;
    const struct request_record *records = derived->control->records;
    return derived->policy->goes_before(&records[a], &records[b]);
}

static bool ended_before(const void *context, uint32_t a, uint32_t b)
{
    const struct derived *derived = context;
    const struct request_record *records = derived->control->records;
    return records[a].finished_ns < records[b].finished_ns;
}

static void forget_all(struct derived *derived)
{
    const struct geometry *geometry = &derived->control->header->geometry;
    for (uint32_t i = 0; i < geometry->records_count; i++) {
        derived->nodes[i] = (struct queue_node){.next = QUEUE_END, .previous = QUEUE_END};
        derived->record_step[i] = STEP_NONE;
    }
    for (uint32_t i = 0; i < geometry->workers_max; i++)
        derived->worker_step[i] = STEP_NONE;
    queue_init(&derived->free, derived->nodes);
    queue_init(&derived->waiting, derived->nodes);
    queue_init(&derived->running, derived->nodes);
    queue_init(&derived->done, derived->nodes);
    block_pool_recount_begin(derived->blocks);
    heap_pages_clear(derived->heap);
    record_index_clear(derived->index);
    derived->next_submit_number = 1;
    derived->next_step_number = 1;
}

static enum status corrupt_record(uint32_t index, const char *what, struct fault *fault)
{
    return fault_set(fault, STATUS_CORRUPT, "", "request record %u is corrupt: %s", index,
                     what);
}

/* What must hold of a record in use before anything in it may be followed. */
static const char *record_fault(const struct derived *derived,
                                const struct request_record *record)
{
    const struct geometry *geometry = &derived->control->header->geometry;
    if (memchr(record->id, '\0', sizeof record->id) == NULL || record->id[0] == '\0')
        return "its id is empty or has no end";
    if (record->prompt_tokens_count == 0 ||
        record->tokens_count < record->prompt_tokens_count ||
        record->tokens_count > record->tokens_capacity ||
        record->tokens_capacity > geometry->context_length)
        return "its token counts contradict one another";
    if (record->kv_rows_count > record->tokens_count)
        return "it has more KV rows than tokens";
    if (record->blocks_held_count > record->blocks_capacity ||
        record->blocks_capacity > geometry->blocks_count)
        return "it holds more blocks than it may";
    if (record->chain_links_count > 1 + record->blocks_capacity ||
        record->blocks_offered_count > record->blocks_capacity)
        return "it names more blocks than it may hold";
    if (record->logprobs_per_token > 1 + TOP_LOGPROBS_MAX ||
        record->logit_bias_count > LOGIT_BIAS_MAX ||
        record->stop_tokens_count > STOP_TOKENS_MAX ||
        record->grammar_bytes > GRAMMAR_BYTES_MAX ||
        record->client_blob_bytes > CLIENT_BLOB_BYTES_MAX)
        return "a part of it is over its bound";
    if (record->extent_pages_count != extent_pages(record))
        return "its extent's size is not that of its parts";
    return NULL;
}

static enum status hold_blocks(struct derived *derived, uint32_t index,
                               struct fault *fault)
{
    const struct control *control = derived->control;
    const struct request_record *record = &control->records[index];
    struct extent extent = extent_view(control, record);
    if (record->kv_rows_count >
        (uint64_t)record->blocks_held_count * control->header->geometry.block_size)
        return corrupt_record(index, "its blocks do not hold its KV rows", fault);
    for (uint32_t i = 0; i < record->blocks_held_count; i++) {
        if (extent.block_table[i] >= control->header->geometry.blocks_count)
            return corrupt_record(index, "its block table names no block", fault);
        block_pool_hold(derived->blocks, extent.block_table[i]);
    }
    return STATUS_OK;
}

static void enqueue(struct derived *derived, uint32_t index)
{
    switch (request_state(&derived->control->records[index])) {
    case REQUEST_WAITING:
        queue_insert(&derived->waiting, index, derived_waits_before, derived);
        break;
    case REQUEST_DONE:
        queue_insert(&derived->done, index, ended_before, derived);
        break;
    default:
        queue_push(&derived->running, index);
    }
}

static enum status read_record(struct derived *derived, uint32_t index,
                               struct fault *fault)
{
    const struct request_record *record = &derived->control->records[index];
    if (request_state(record) == REQUEST_FREE) {
        queue_push(&derived->free, index);
        return STATUS_OK;
    }
    if (request_state(record) >= REQUEST_STATES)
        return corrupt_record(index, "it is in no known state", fault);
    const char *what = record_fault(derived, record);
    if (what != NULL)
        return corrupt_record(index, what, fault);
    if (!heap_pages_claim(derived->heap, record->extent_page, record->extent_pages_count))
        return corrupt_record(index, "its extent overlaps another or leaves the heap",
                              fault);
    enqueue(derived, index);
    record_index_add(derived->index, index);
    if (record->submit_number >= derived->next_submit_number)
        derived->next_submit_number = record->submit_number + 1;
    return request_is_running(record) ? hold_blocks(derived, index, fault) : STATUS_OK;
}

static enum status read_step_in_flight(struct derived *derived, uint32_t index,
                                       const struct step_view *view, struct fault *fault)
{
    const struct geometry *geometry = &derived->control->header->geometry;
    const struct step *step = view->step;
    if (step->worker >= geometry->workers_max ||
        derived->worker_step[step->worker] != STEP_NONE ||
        step->sequences_count > geometry->step_sequences_max)
        return fault_set(fault, STATUS_CORRUPT, "",
                         "step slot %u is corrupt: its worker or its counts", index);
    derived->worker_step[step->worker] = index;
    for (uint32_t i = 0; i < step->sequences_count; i++) {
        uint32_t record = view->sequence_record[i];
        if (record >= geometry->records_count)
            return fault_set(fault, STATUS_CORRUPT, "",
                             "step slot %u is corrupt: sequence %u names no record",
                             index, i);
        if (derived->control->records[record].use == view->sequence_use[i] &&
            request_is_running(&derived->control->records[record]))
            derived->record_step[record] = index;
    }
    return STATUS_OK;
}

static enum status read_step(struct derived *derived, uint32_t index, struct fault *fault)
{
    struct step_view view = step_at(derived->control, index);
    uint64_t posted = atomic_load_explicit(&view.step->posted, memory_order_acquire);
    uint64_t committed =
        atomic_load_explicit(&view.step->committed, memory_order_acquire);
    if (posted >= derived->next_step_number)
        derived->next_step_number = posted + 1;
    return posted == committed ? STATUS_OK
                               : read_step_in_flight(derived, index, &view, fault);
}

enum status derived_rebuild(struct derived *derived, struct fault *fault)
{
    const struct geometry *geometry = &derived->control->header->geometry;
    enum status status = STATUS_OK;
    forget_all(derived);
    for (uint32_t i = 0; i < geometry->records_count && status == STATUS_OK; i++)
        status = read_record(derived, i, fault);
    for (uint32_t i = 0; i < geometry->steps_count && status == STATUS_OK; i++)
        status = read_step(derived, i, fault);
    if (status == STATUS_OK)
        status = prefix_cache_read(derived->cache, fault);
    block_pool_recount_end(derived->blocks);
    prefix_cache_sort(derived->cache);
    return status;
}

static bool same_order(const struct queue *a, const struct queue *b)
{
    uint32_t i = a->head, j = b->head;
    while (i != QUEUE_END && i == j) {
        i = queue_next(a, i);
        j = queue_next(b, j);
    }
    return i == j;
}

static bool ended_in_order(const struct derived *kept)
{
    const struct queue *done = &kept->done;
    for (uint32_t i = done->head; i != QUEUE_END; i = queue_next(done, i)) {
        uint32_t next = queue_next(done, i);
        if (next != QUEUE_END && ended_before(kept, next, i))
            return false;
    }
    return true;
}

static bool same_members(const struct queue *a, const struct queue *b)
{
    for (uint32_t i = a->head; i != QUEUE_END; i = queue_next(a, i))
        if (!queue_holds(b, i))
            return false;
    return a->count == b->count;
}

static const char *difference(const struct derived *kept, const struct derived *rebuilt)
{
    const struct geometry *geometry = &kept->control->header->geometry;
    if (!same_members(&kept->free, &rebuilt->free))
        return "the free records";
    if (!same_order(&kept->waiting, &rebuilt->waiting))
        return "the waiting queue";
    if (!same_members(&kept->running, &rebuilt->running))
        return "the running requests";
    if (!same_members(&kept->done, &rebuilt->done) || !ended_in_order(kept))
        return "the finished requests";
    if (!heap_pages_equal(kept->heap, rebuilt->heap))
        return "the heap's pages";
    if (record_index_count(kept->index) != record_index_count(rebuilt->index))
        return "the index of ids";
    if (!block_pool_check(kept->blocks))
        return "the block pool's free list and its counts";
    if (!prefix_cache_check(kept->cache))
        return "the prefix cache's index and the block records";
    for (uint32_t i = 0; i < geometry->blocks_count; i++)
        if (block_pool_holders(kept->blocks, i) != block_pool_holders(rebuilt->blocks, i))
            return "a block's holders";
    for (uint32_t i = 0; i < geometry->records_count; i++)
        if (kept->record_step[i] != rebuilt->record_step[i])
            return "a request's step in flight";
    for (uint32_t i = 0; i < geometry->workers_max; i++)
        if (kept->worker_step[i] != rebuilt->worker_step[i])
            return "a worker's step in flight";
    if (kept->next_step_number != rebuilt->next_step_number)
        return "the next step's number";
    return NULL;
}

enum status derived_compare(const struct derived *kept, const struct derived *rebuilt,
                            struct fault *fault)
{
    const char *what = difference(kept, rebuilt);
    if (what == NULL)
        return STATUS_OK;
    return fault_set(fault, STATUS_CORRUPT, "",
                     "%s as kept differs from what the records say", what);
}
