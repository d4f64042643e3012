#include "scheduler/core/step_scheduler.h"

#include "common/base/invariant.h"
#include "scheduler/core/boundary.h"
#include "scheduler/core/queue.h"
#include <stdlib.h>

/* The gates of KV blocks and of the token budget, set wide open. */
#define UNBOUND INT64_MAX

struct step_scheduler {
    const struct step_request *requests;
    uint32_t requests_count;
    int64_t max_batch_size;
    struct queue waiting;
    struct queue_node *nodes;           /* [requests] */
    struct step_progress *progress;     /* [requests] */
    struct iteration_request *running;  /* [requests], by admission */
    struct iteration_request *next;     /* [requests]: running, after the boundary */
    struct iteration_request *arrived;  /* [requests] */
    struct iteration_request *terminal; /* [requests] */
    uint32_t running_count;
    uint32_t *admitted_ids; /* [requests], as returned */
    uint32_t *running_ids;  /* [requests], as returned */
    uint32_t steps_max;     /* one token a step at least */
    uint32_t steps_count;
    struct step_record *records;  /* [steps] */
    uint32_t *active_batch_sizes; /* [steps] */
    uint32_t ids_max;
    uint32_t ids_count;
    uint32_t *ids; /* the records' */
};

static bool arrived_before(const void *context, uint32_t a, uint32_t b)
{
    const struct step_request *requests = context;
    return requests[a].arrival_step < requests[b].arrival_step;
}

/* Every request is admitted once, completes once, and runs a step for each token. */
static void size_records(struct step_scheduler *scheduler)
{
    int64_t tokens_max = 0;
    for (uint32_t i = 0; i < scheduler->requests_count; i++)
        tokens_max += scheduler->requests[i].max_new_tokens;
    scheduler->steps_max = (uint32_t)tokens_max;
    scheduler->ids_max = (uint32_t)tokens_max + 2 * scheduler->requests_count;
}

/* calloc may answer an empty list with NULL, so each has room for one more. */
static bool allocate(struct step_scheduler *scheduler)
{
    size_t count = (size_t)scheduler->requests_count + 1;
    size_t steps = (size_t)scheduler->steps_max + 1;
    scheduler->nodes = calloc(count, sizeof *scheduler->nodes);
    scheduler->progress = calloc(count, sizeof *scheduler->progress);
    scheduler->running = calloc(count, sizeof *scheduler->running);
    scheduler->next = calloc(count, sizeof *scheduler->next);
    scheduler->arrived = calloc(count, sizeof *scheduler->arrived);
    scheduler->terminal = calloc(count, sizeof *scheduler->terminal);
    scheduler->admitted_ids = calloc(count, sizeof *scheduler->admitted_ids);
    scheduler->running_ids = calloc(count, sizeof *scheduler->running_ids);
    scheduler->records = calloc(steps, sizeof *scheduler->records);
    scheduler->active_batch_sizes = calloc(steps, sizeof *scheduler->active_batch_sizes);
    scheduler->ids = calloc((size_t)scheduler->ids_max + 1, sizeof *scheduler->ids);
    return scheduler->nodes != NULL && scheduler->progress != NULL &&
           scheduler->running != NULL && scheduler->next != NULL &&
           scheduler->arrived != NULL && scheduler->terminal != NULL &&
           scheduler->admitted_ids != NULL && scheduler->running_ids != NULL &&
           scheduler->records != NULL && scheduler->active_batch_sizes != NULL &&
           scheduler->ids != NULL;
}

static void submit_all(struct step_scheduler *scheduler)
{
    queue_init(&scheduler->waiting, scheduler->nodes);
    for (uint32_t i = 0; i < scheduler->requests_count; i++) {
        scheduler->progress[i] =
            (struct step_progress){STEP_WAITING, STEP_NEVER, STEP_NEVER};
        queue_insert(&scheduler->waiting, i, arrived_before, scheduler->requests);
    }
}

enum status step_scheduler_create(struct step_scheduler **out,
                                  const struct step_request *requests,
                                  uint32_t requests_count, int64_t max_batch_size,
                                  uint32_t *at, struct fault *fault)
{
    enum status status =
        step_requests_validate(requests, requests_count, max_batch_size, at, fault);
    if (status != STATUS_OK)
        return status;
    struct step_scheduler *scheduler = calloc(1, sizeof *scheduler);
    if (scheduler == NULL)
        goto no_space;
    scheduler->requests = requests;
    scheduler->requests_count = requests_count;
    scheduler->max_batch_size = max_batch_size;
    size_records(scheduler);
    if (!allocate(scheduler))
        goto no_space;
    submit_all(scheduler);
    *out = scheduler;
    return STATUS_OK;
no_space:
    step_scheduler_destroy(scheduler);
    return fault_set(fault, STATUS_NO_SPACE, "", "no memory for a run of %u requests",
                     requests_count);
}

void step_scheduler_destroy(struct step_scheduler *scheduler)
{
    if (scheduler == NULL)
        return;
    free(scheduler->ids);
    free(scheduler->active_batch_sizes);
    free(scheduler->records);
    free(scheduler->running_ids);
    free(scheduler->admitted_ids);
    free(scheduler->terminal);
    free(scheduler->arrived);
    free(scheduler->next);
    free(scheduler->running);
    free(scheduler->progress);
    free(scheduler->nodes);
    free(scheduler);
}

bool step_scheduler_has_work(const struct step_scheduler *scheduler)
{
    return scheduler->waiting.count > 0 || scheduler->running_count > 0;
}

int64_t step_scheduler_next_arrival_step(const struct step_scheduler *scheduler)
{
    uint32_t head = scheduler->waiting.head;
    return head == QUEUE_END ? STEP_NEVER : scheduler->requests[head].arrival_step;
}

/* The head of waiting and those behind it, as far as they have arrived and find room. */
static uint32_t collect_arrived(struct step_scheduler *scheduler, int64_t step)
{
    const struct queue *waiting = &scheduler->waiting;
    int64_t room = scheduler->max_batch_size - scheduler->running_count;
    uint32_t count = 0;
    for (uint32_t i = waiting->head; i != QUEUE_END && count < room;
         i = queue_next(waiting, i)) {
        if (scheduler->requests[i].arrival_step > step)
            break;
        scheduler->arrived[count++] = (struct iteration_request){
            .id = i,
            .phase = PHASE_DECODE,
            .status = ITERATION_ACTIVE,
            .remaining_decode_tokens = scheduler->requests[i].max_new_tokens};
    }
    return count;
}

/* Makes the boundary's batch the one that runs; all of waiting that it took leave it. */
static struct step_ids enter(struct step_scheduler *scheduler,
                             const struct iteration_batch *batch, int64_t step)
{
    uint32_t first = batch->batch_count - batch->admitted_count;
    for (uint32_t i = 0; i < batch->admitted_count; i++) {
        uint32_t request = batch->batch[first + i].id;
        queue_remove(&scheduler->waiting, request);
        scheduler->progress[request].lifecycle = STEP_RUNNING;
        scheduler->progress[request].admitted_step = step;
        scheduler->admitted_ids[i] = request;
    }
    scheduler->next = scheduler->running;
    scheduler->running = batch->batch;
    scheduler->running_count = batch->batch_count;
    return (struct step_ids){scheduler->admitted_ids, batch->admitted_count};
}

struct step_ids step_scheduler_admit(struct step_scheduler *scheduler, int64_t step)
{
    const struct iteration_limits limits = {.max_batch_size = scheduler->max_batch_size,
                                            .free_kv_blocks = UNBOUND,
                                            .max_num_batched_tokens = UNBOUND,
                                            .prefill_chunk_size = 1};
    struct iteration_batch batch = {.batch = scheduler->next};
    struct fault fault;
    uint32_t arrived_count = collect_arrived(scheduler, step);
    enum status status =
        form_iteration_batch(scheduler->running, scheduler->running_count,
                             scheduler->arrived, arrived_count, &limits, &batch, &fault);
    INVARIANT(status == STATUS_OK);
    return enter(scheduler, &batch, step);
}

struct step_ids step_scheduler_running(struct step_scheduler *scheduler)
{
    for (uint32_t i = 0; i < scheduler->running_count; i++)
        scheduler->running_ids[i] = scheduler->running[i].id;
    return (struct step_ids){scheduler->running_ids, scheduler->running_count};
}

bool step_scheduler_take_token(struct step_scheduler *scheduler, uint32_t position,
                               bool is_eos)
{
    INVARIANT(position < scheduler->running_count);
    struct iteration_request *request = &scheduler->running[position];
    struct fault fault;
    enum status status = advance_iteration(request, request, &fault);
    INVARIANT(status == STATUS_OK);
    if (is_eos)
        request->status = ITERATION_COMPLETED;
    return request->status == ITERATION_COMPLETED;
}

void step_scheduler_finish(struct step_scheduler *scheduler, struct step_ids ids,
                           int64_t step)
{
    uint32_t terminal_count;
    for (uint32_t i = 0; i < ids.count; i++) {
        struct step_progress *progress = &scheduler->progress[ids.ids[i]];
        INVARIANT(progress->lifecycle == STEP_RUNNING);
        progress->lifecycle = STEP_FINISHED;
        progress->finished_step = step;
    }
    for (uint32_t i = 0; i < scheduler->running_count; i++)
        if (scheduler->progress[scheduler->running[i].id].lifecycle == STEP_FINISHED)
            scheduler->running[i].status = ITERATION_COMPLETED;
    release_terminal_requests(scheduler->running, scheduler->running_count,
                              scheduler->running, &scheduler->running_count,
                              scheduler->terminal, &terminal_count);
    INVARIANT(terminal_count == ids.count);
}

static struct step_ids keep(struct step_scheduler *scheduler, struct step_ids ids)
{
    uint32_t *kept = scheduler->ids + scheduler->ids_count;
    INVARIANT(ids.count <= scheduler->ids_max - scheduler->ids_count);
    for (uint32_t i = 0; i < ids.count; i++)
        kept[i] = ids.ids[i];
    scheduler->ids_count += ids.count;
    return (struct step_ids){kept, ids.count};
}

void step_scheduler_record_step(struct step_scheduler *scheduler, int64_t step,
                                struct step_ids admitted, struct step_ids running,
                                struct step_ids completed)
{
    INVARIANT(scheduler->steps_count < scheduler->steps_max);
    uint32_t index = scheduler->steps_count++;
    scheduler->active_batch_sizes[index] = running.count;
    scheduler->records[index] =
        (struct step_record){.step = step,
                             .admitted_request_ids = keep(scheduler, admitted),
                             .running_request_ids = keep(scheduler, running),
                             .completed_request_ids = keep(scheduler, completed),
                             .active_batch_size = running.count};
}

const struct step_request *step_scheduler_requests(const struct step_scheduler *scheduler,
                                                   uint32_t *count)
{
    *count = scheduler->requests_count;
    return scheduler->requests;
}

const struct step_progress *
step_scheduler_progress(const struct step_scheduler *scheduler, uint32_t request)
{
    INVARIANT(request < scheduler->requests_count);
    return &scheduler->progress[request];
}

const struct step_record *step_scheduler_records(const struct step_scheduler *scheduler,
                                                 uint32_t *count)
{
    *count = scheduler->steps_count;
    return scheduler->records;
}

const uint32_t *step_scheduler_active_batch_sizes(const struct step_scheduler *scheduler)
{
    return scheduler->active_batch_sizes;
}
