#include "scheduler/core/step_engine.h"

#include <stdlib.h>

struct engine_run {
    struct step_scheduler *scheduler;
    step_forward *forward;
    void *context;
    struct step_result *results;
    double total_seconds;
    struct step_token *tokens; /* [requests] */
    uint32_t *completed;       /* [requests] */
};

static void charge(struct step_result *result, double elapsed_seconds)
{
    result->generated_tokens++;
    if (result->generated_tokens == 1)
        result->ttft_seconds = result->prefill_seconds = elapsed_seconds;
    else
        result->decode_seconds += elapsed_seconds;
}

static enum status compute(struct engine_run *run, struct step_ids running,
                           double *elapsed_seconds, struct fault *fault)
{
    for (uint32_t i = 0; i < running.count; i++)
        run->tokens[i] = (struct step_token){
            .request = running.ids[i],
            .number = run->results[running.ids[i]].generated_tokens + 1};
    return run->forward(run->context, run->tokens, running.count, elapsed_seconds, fault);
}

static enum status run_step(struct engine_run *run, int64_t step, struct fault *fault)
{
    struct step_ids admitted = step_scheduler_admit(run->scheduler, step);
    struct step_ids running = step_scheduler_running(run->scheduler);
    struct step_ids completed = {run->completed, 0};
    double elapsed_seconds = 0;
    enum status status = compute(run, running, &elapsed_seconds, fault);
    if (status != STATUS_OK)
        return status;
    run->total_seconds += elapsed_seconds;
    for (uint32_t i = 0; i < running.count; i++) {
        charge(&run->results[running.ids[i]], elapsed_seconds);
        if (step_scheduler_take_token(run->scheduler, i, run->tokens[i].is_eos))
            run->completed[completed.count++] = running.ids[i];
    }
    step_scheduler_finish(run->scheduler, completed, step);
    step_scheduler_record_step(run->scheduler, step, admitted, running, completed);
    return STATUS_OK;
}

static enum status run_all(struct engine_run *run, struct fault *fault)
{
    int64_t step = 0;
    while (step_scheduler_has_work(run->scheduler)) {
        int64_t arrival = step_scheduler_next_arrival_step(run->scheduler);
        if (step_scheduler_running(run->scheduler).count == 0 && arrival > step)
            step = arrival;
        enum status status = run_step(run, step++, fault);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status step_engine_run(struct step_scheduler *scheduler, step_forward *forward,
                            void *context, struct step_result *results,
                            double *total_seconds, struct fault *fault)
{
    struct engine_run run = {.scheduler = scheduler,
                             .forward = forward,
                             .context = context,
                             .results = results};
    uint32_t requests_count;
    step_scheduler_requests(scheduler, &requests_count);
    if (requests_count == 0)
        return fault_set(fault, STATUS_INVALID, "requests", "requests must not be empty");
    for (uint32_t i = 0; i < requests_count; i++)
        results[i] = (struct step_result){0};
    run.tokens = calloc(requests_count, sizeof *run.tokens);
    run.completed = calloc(requests_count, sizeof *run.completed);
    enum status status =
        run.tokens != NULL && run.completed != NULL
            ? run_all(&run, fault)
            : fault_set(fault, STATUS_NO_SPACE, "",
                        "no memory for a batch of %u requests", requests_count);
    free(run.completed);
    free(run.tokens);
    *total_seconds = run.total_seconds;
    return status;
}
