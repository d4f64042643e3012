/* planner.c - forms the next step of a worker at an iteration boundary, and posts it.
 *
 * Fairness: every decode has its row in every step. Running prefills share what decodes
 * leave by turns: who got a chunk goes behind the others, so that none is starved by its
 * place of arrival.
 */
#include "scheduler/core/scheduler_state.h"

#include "common/base/invariant.h"

static struct iteration_request describe(const struct request_record *record,
                                         uint32_t index)
{
    /* A WAITING request is a prefill to be. The last chunk samples the first token, so a
     * request preempted while decoding has its generated tokens to prefill, too. */
    bool is_decode = request_state(record) == REQUEST_DECODE;
    return (struct iteration_request){
        .id = index,
        .phase = is_decode ? PHASE_DECODE : PHASE_PREFILL,
        .status = ITERATION_ACTIVE,
        .kv_blocks = record->blocks_capacity,
        .remaining_prefill_tokens =
            is_decode ? 0 : (int64_t)record->tokens_count - record->kv_rows_count,
        .remaining_decode_tokens =
            (int64_t)record->max_tokens - request_generated_count(record)};
}

/* The suspects of one group: as many as each of them may meet in a step. */
static uint32_t collect_suspects(struct scheduler *scheduler)
{
    const struct derived *derived = scheduler->derived;
    uint32_t count = 0, sequences_max = UINT32_MAX;
    for (uint32_t i = derived->running.head; i != QUEUE_END;
         i = queue_next(&derived->running, i)) {
        const struct request_record *record = &scheduler->control.records[i];
        uint32_t bound = record->suspect_sequences_max;
        if (bound == 0 || derived->record_step[i] != STEP_NONE)
            continue;
        uint32_t joint_max = bound < sequences_max ? bound : sequences_max;
        if (count + 1 > joint_max)
            continue;
        sequences_max = joint_max;
        scheduler->active[count++] = describe(record, i);
    }
    return count;
}

static uint32_t collect_running(struct scheduler *scheduler)
{
    const struct derived *derived = scheduler->derived;
    uint32_t count = 0;
    for (uint32_t i = derived->running.head; i != QUEUE_END;
         i = queue_next(&derived->running, i))
        if (derived->record_step[i] == STEP_NONE)
            scheduler->active[count++] = describe(&scheduler->control.records[i], i);
    return count;
}

/* A waiting request as it would join: without the rows that are cached, and without the
 * blocks that others hold. An idle block costs as much as a free one. So the gate stays
 * right whatever those before it take: fewer blocks found then are fewer rows saved. */
static struct iteration_request describe_waiting(const struct scheduler *scheduler,
                                                 uint32_t index)
{
    const struct request_record *record = &scheduler->control.records[index];
    struct prefix_hits hits = scheduler_find_prefix(scheduler, record);
    struct iteration_request candidate = describe(record, index);
    candidate.kv_blocks -= hits.held_count;
    candidate.remaining_prefill_tokens =
        (int64_t)record->tokens_count -
        (int64_t)hits.blocks_count * scheduler->geometry->block_size;
    return candidate;
}

/* Those that may join, up to the first that the slots, blocks or tokens left by the ones
 * before it cannot take: nobody behind that one matters, nor is looked up. */
static uint32_t collect_candidates(struct scheduler *scheduler)
{
    const struct queue *waiting = &scheduler->derived->waiting;
    uint32_t free_slots =
        scheduler->geometry->step_sequences_max - scheduler->derived->running.count;
    int64_t blocks = block_pool_unheld_count(scheduler->derived->blocks);
    int64_t tokens = scheduler->geometry->step_rows_max;
    uint32_t count = 0;
    for (uint32_t i = waiting->head;
         i != QUEUE_END && count <= free_slots && blocks >= 0 && tokens >= 0;
         i = queue_next(waiting, i)) {
        /* The one beyond the free slots is refused by them: no need to look it up. */
        struct iteration_request candidate =
            count < free_slots ? describe_waiting(scheduler, i)
                               : describe(&scheduler->control.records[i], i);
        blocks -= candidate.kv_blocks;
        tokens -= candidate.remaining_prefill_tokens < scheduler->options.prefill_chunk
                      ? candidate.remaining_prefill_tokens
                      : scheduler->options.prefill_chunk;
        scheduler->candidates[count++] = candidate;
    }
    return count;
}

static void admit(struct scheduler *scheduler, const struct iteration_request *candidate,
                  uint64_t now_ns)
{
    struct derived *derived = scheduler->derived;
    struct request_record *record = &scheduler->control.records[candidate->id];
    scheduler_reserve_blocks(scheduler, record);
    scheduler_account_wait(scheduler, candidate->id, now_ns);
    record->block_reason = BLOCKED_NOT;
    record->admitted_ns = now_ns;
    request_move(record, REQUEST_PREFILL);
    queue_remove(&derived->waiting, candidate->id);
    queue_push(&derived->running, candidate->id);
    flight_record(&scheduler->control,
                  (struct flight_event){.time_ns = now_ns,
                                        .step_number = derived->next_step_number,
                                        .kind = FLIGHT_ADMIT,
                                        .record = candidate->id,
                                        .a = record->blocks_held_count,
                                        .b = candidate->scheduled_tokens});
}

/* Notes why the head waits on, once for each change of it. */
static void note_blocked(struct scheduler *scheduler, enum block_reason reason,
                         uint64_t now_ns)
{
    wait_clock_set(&scheduler->wait_clock, reason, now_ns);
    uint32_t head = scheduler->derived->waiting.head;
    if (head == QUEUE_END || scheduler->control.records[head].block_reason == reason)
        return;
    scheduler->control.records[head].block_reason = (uint8_t)reason;
    flight_record(
        &scheduler->control,
        (struct flight_event){.time_ns = now_ns,
                              .step_number = scheduler->derived->next_step_number,
                              .kind = FLIGHT_BLOCKED,
                              .record = head,
                              .a = reason,
                              .b = scheduler->derived->waiting.count});
}

static uint32_t free_step(const struct scheduler *scheduler)
{
    for (uint32_t i = 0; i < scheduler->geometry->steps_count; i++) {
        const struct step *step = step_at(&scheduler->control, i).step;
        if (atomic_load_explicit(&step->posted, memory_order_relaxed) ==
            atomic_load_explicit(&step->committed, memory_order_relaxed))
            return i;
    }
    return STEP_NONE;
}

static void add_sequence(struct scheduler *scheduler, uint32_t slot,
                         struct step_view *view, const struct iteration_request *planned)
{
    const struct request_record *record = &scheduler->control.records[planned->id];
    struct step *step = view->step;
    uint32_t sequence = step->sequences_count++;
    uint32_t position = record->kv_rows_count;
    uint32_t rows_count = planned->scheduled_tokens;
    const uint32_t *tokens = extent_view(&scheduler->control, record).tokens;
    view->sequence_record[sequence] = planned->id;
    view->sequence_use[sequence] = record->use;
    view->sequence_row_first[sequence] = step->rows_count;
    view->sequence_rows_count[sequence] = rows_count;
    view->sequence_position[sequence] = position;
    view->sequence_flags[sequence] =
        position + rows_count == record->tokens_count ? SEQUENCE_SAMPLE : 0;
    memcpy(view->row_token + step->rows_count, tokens + position,
           rows_count * sizeof *tokens);
    step->rows_count += rows_count;
    if (record->attempts > step->attempt)
        step->attempt = record->attempts;
    scheduler->derived->record_step[planned->id] = slot;
}

static void fill(struct scheduler *scheduler, uint32_t slot, struct step_view *view,
                 const struct iteration_request *planned, uint32_t count)
{
    struct queue *running = &scheduler->derived->running;
    for (uint32_t i = 0; i < count; i++) {
        if (planned[i].scheduled_tokens == 0)
            continue;
        add_sequence(scheduler, slot, view, &planned[i]);
        if (planned[i].phase == PHASE_PREFILL) {
            queue_remove(running, planned[i].id);
            queue_push(running, planned[i].id);
        }
    }
}

static void post(struct scheduler *scheduler, uint32_t slot, uint32_t worker,
                 const struct step_view *view, uint64_t now_ns)
{
    struct step *step = view->step;
    step->worker = worker;
    step->generation = scheduler->control.header->generation;
    step->posted_ns = now_ns;
    scheduler->derived->worker_step[worker] = slot;
    uint64_t number = scheduler->derived->next_step_number++;
    scheduler->counters.replayed_steps += step->attempt > 0;
    atomic_store_explicit(&step->posted, number, memory_order_release);
    flight_record(&scheduler->control, (struct flight_event){.time_ns = now_ns,
                                                             .step_number = number,
                                                             .kind = FLIGHT_STEP,
                                                             .record = RECORD_NONE,
                                                             .a = step->rows_count,
                                                             .b = step->sequences_count});
}

/* What the boundary decides: the active ones' rows, and how many candidates join. None of
 * the active is terminal: settle.c released those that ended. */
static struct iteration_batch decide(struct scheduler *scheduler, uint32_t active_count,
                                     uint32_t candidates_count)
{
    struct iteration_limits limits = {
        .max_batch_size = (int64_t)scheduler->geometry->step_sequences_max -
                          (scheduler->derived->running.count - active_count),
        .free_kv_blocks = block_pool_unheld_count(scheduler->derived->blocks),
        .max_num_batched_tokens = scheduler->geometry->step_rows_max,
        .prefill_chunk_size = scheduler->options.prefill_chunk,
        .trim_prefill = true};
    struct iteration_batch batch = {.batch = scheduler->batch};
    struct fault fault;
    enum status status =
        form_iteration_batch(scheduler->active, active_count, scheduler->candidates,
                             candidates_count, &limits, &batch, &fault);
    INVARIANT(status == STATUS_OK);
    return batch;
}

uint32_t scheduler_plan(struct scheduler *scheduler, uint32_t worker, uint64_t now_ns)
{
    INVARIANT(worker < scheduler->geometry->workers_max);
    INVARIANT(scheduler->derived->worker_step[worker] == STEP_NONE);
    scheduler_tidy(scheduler, now_ns);
    uint32_t active_count = collect_suspects(scheduler), candidates_count = 0;
    bool among_suspects = active_count > 0;
    if (!among_suspects) {
        active_count = collect_running(scheduler);
        candidates_count = collect_candidates(scheduler);
    }
    uint32_t slot = free_step(scheduler);
    if (slot == STEP_NONE || active_count + candidates_count == 0)
        return STEP_NONE;
    struct iteration_batch batch = decide(scheduler, active_count, candidates_count);
    for (uint32_t i = active_count; i < batch.batch_count; i++)
        admit(scheduler, &batch.batch[i], now_ns);
    if (!among_suspects)
        note_blocked(scheduler, batch.blocked.reason, now_ns);
    struct step_view view = step_at(&scheduler->control, slot);
    /* Whoever sees a part of the new step sees that the old one is committed, too. */
    atomic_thread_fence(memory_order_release);
    view.step->rows_count = view.step->sequences_count = view.step->attempt = 0;
    fill(scheduler, slot, &view, batch.batch, batch.batch_count);
    if (view.step->sequences_count == 0)
        return STEP_NONE;
    post(scheduler, slot, worker, &view, now_ns);
    return slot;
}
