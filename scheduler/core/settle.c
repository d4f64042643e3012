/* settle.c - what a step's results, or its loss, do to the records.
 *
 * Repeatable: a scheduler may die at any point of a commit, and its successor begins the
 * commit again. So what is stored is absolute (the token's place follows from the step's
 * position, not from a count), kv_rows_count is stored last, as it tells whether the
 * sequence was applied, and the end of a request is derived from its record.
 */
#include "scheduler/core/scheduler_state.h"

#include "common/base/invariant.h"

/* The record of a step's sequence while it is that use and still runs; or NULL. */
static struct request_record *sequence_record(const struct scheduler *scheduler,
                                              const struct step_view *view,
                                              uint32_t sequence)
{
    struct request_record *record =
        &scheduler->control.records[view->sequence_record[sequence]];
    bool is_same_use = record->use == view->sequence_use[sequence];
    return is_same_use && request_is_running(record) ? record : NULL;
}

static void store_token(const struct scheduler *scheduler, struct request_record *record,
                        const struct step_view *view, uint32_t sequence, uint32_t index)
{
    struct extent extent = extent_view(&scheduler->control, record);
    INVARIANT(index >= record->prompt_tokens_count && index < record->tokens_capacity);
    extent.tokens[index] = view->result_token[sequence];
    memcpy(extent.logprobs +
               (size_t)(index - record->prompt_tokens_count) * record->logprobs_per_token,
           view->result_logprobs + (size_t)sequence * (1 + TOP_LOGPROBS_MAX),
           record->logprobs_per_token * sizeof(struct logprob));
    record->tokens_count = index + 1;
}

/* Takes a sequence's rows, and its token where one was sampled, into the record. */
static void apply(struct scheduler *scheduler, struct request_record *record,
                  const struct step_view *view, uint32_t sequence, uint64_t now_ns)
{
    uint32_t rows_end =
        view->sequence_position[sequence] + view->sequence_rows_count[sequence];
    if (view->sequence_flags[sequence] & SEQUENCE_SAMPLE) {
        store_token(scheduler, record, view, sequence, rows_end);
        scheduler->counters.generation_tokens++;
        if (record->first_token_ns == 0)
            record->first_token_ns = now_ns;
        if (request_state(record) == REQUEST_PREFILL)
            request_move(record, REQUEST_DECODE);
        scheduler_tell(scheduler, view->sequence_record[sequence]);
    }
    record->attempts = record->suspect_sequences_max = record->deaths_alone = 0;
    atomic_thread_fence(memory_order_release);
    record->kv_rows_count = rows_end;
}

static const char *result_fault(const struct scheduler *scheduler,
                                const struct step_view *view, uint32_t sequence)
{
    if (view->result_status[sequence] != STATUS_OK)
        return "the worker could not compute this request's next token";
    if (view->sequence_flags[sequence] & SEQUENCE_SAMPLE &&
        view->result_token[sequence] >= scheduler->geometry->vocabulary_count)
        return "the worker sampled a token outside the vocabulary";
    return NULL;
}

static void settle_sequence(struct scheduler *scheduler, const struct step_view *view,
                            uint32_t sequence, uint64_t now_ns)
{
    uint32_t index = view->sequence_record[sequence];
    struct request_record *record = sequence_record(scheduler, view, sequence);
    if (record == NULL)
        return;
    if (record->cancel_requested != FINISH_NONE) {
        scheduler_finish(scheduler, index, record->cancel_requested, now_ns);
        return;
    }
    if (record->kv_rows_count == view->sequence_position[sequence]) {
        const char *failure = result_fault(scheduler, view, sequence);
        if (failure != NULL) {
            uint32_t status = view->result_status[sequence];
            bool is_named = status != STATUS_OK && status < STATUS_COUNT;
            scheduler_fail(scheduler, index,
                           is_named ? (enum status)status : STATUS_INTERNAL, failure,
                           now_ns);
            return;
        }
        apply(scheduler, record, view, sequence, now_ns);
    }
    enum finish_reason reason = request_finish(&scheduler->control, record);
    if (reason != FINISH_NONE)
        scheduler_finish(scheduler, index, reason, now_ns);
}

/* Frees the step's slot, and only then caches what its sequences filled, and frees what
 * those that ended held. */
static void close_step(struct scheduler *scheduler, uint32_t slot,
                       const struct step_view *view)
{
    struct derived *derived = scheduler->derived;
    uint64_t number = atomic_load_explicit(&view->step->posted, memory_order_relaxed);
    atomic_store_explicit(&view->step->committed, number, memory_order_release);
    derived->worker_step[view->step->worker] = STEP_NONE;
    for (uint32_t i = 0; i < view->step->sequences_count; i++) {
        uint32_t index = view->sequence_record[i];
        if (derived->record_step[index] != slot)
            continue;
        derived->record_step[index] = STEP_NONE;
        scheduler_offer_blocks(scheduler, &scheduler->control.records[index]);
        if (request_state(&scheduler->control.records[index]) == REQUEST_DONE)
            scheduler_retire(scheduler, index);
    }
}

static bool is_done(const struct step *step)
{
    return atomic_load_explicit(&step->done, memory_order_acquire) ==
               atomic_load_explicit(&step->posted, memory_order_relaxed) &&
           step->done_generation == step->generation &&
           step->done_attempt == step->attempt;
}

bool scheduler_commit(struct scheduler *scheduler, uint32_t slot, uint64_t now_ns)
{
    struct step_view view = step_at(&scheduler->control, slot);
    struct step *step = view.step;
    INVARIANT(scheduler->derived->worker_step[step->worker] == slot);
    if (!is_done(step))
        return false;
    for (uint32_t i = 0; i < step->sequences_count; i++)
        settle_sequence(scheduler, &view, i, now_ns);
    close_step(scheduler, slot, &view);
    scheduler->counters.iterations++;
    flight_record(&scheduler->control, (struct flight_event){.time_ns = now_ns,
                                                             .step_number = step->posted,
                                                             .kind = FLIGHT_COMMIT,
                                                             .record = RECORD_NONE,
                                                             .a = step->worker,
                                                             .b = step->attempt});
    return true;
}

/* The step of this sequence was lost with its worker. */
static void suspect(struct scheduler *scheduler, const struct step_view *view,
                    uint32_t sequence, uint64_t now_ns)
{
    uint32_t index = view->sequence_record[sequence];
    uint32_t sequences_count = view->step->sequences_count;
    struct request_record *record = sequence_record(scheduler, view, sequence);
    if (record == NULL)
        return;
    /* Counted once even when a successor begins this again: alone, the step's attempt is
     * the record's. */
    if (sequences_count == 1 && record->attempts == view->step->attempt)
        record->deaths_alone++;
    record->attempts++;
    record->suspect_sequences_max = (uint16_t)((sequences_count + 1) / 2);
    if (record->cancel_requested != FINISH_NONE)
        scheduler_finish(scheduler, index, record->cancel_requested, now_ns);
    else if (record->deaths_alone >= DEATHS_ALONE_MAX)
        scheduler_fail(scheduler, index, STATUS_INTERNAL,
                       "a worker died twice while it computed this request alone",
                       now_ns);
}

void scheduler_worker_died(struct scheduler *scheduler, uint32_t worker, uint64_t now_ns)
{
    uint32_t slot = scheduler_worker_step(scheduler, worker);
    if (slot == STEP_NONE || scheduler_commit(scheduler, slot, now_ns))
        return;
    struct step_view view = step_at(&scheduler->control, slot);
    for (uint32_t i = 0; i < view.step->sequences_count; i++)
        suspect(scheduler, &view, i, now_ns);
    close_step(scheduler, slot, &view);
    flight_record(&scheduler->control,
                  (struct flight_event){.time_ns = now_ns,
                                        .step_number = view.step->posted,
                                        .kind = FLIGHT_RERUN,
                                        .record = RECORD_NONE,
                                        .a = view.step->sequences_count,
                                        .b = worker});
}
