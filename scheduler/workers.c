#include "scheduler/workers.h"

#include "common/base/time_units.h"
#include "common/os/futex.h"
#include "common/os/log.h"
#include "common/os/process.h"
#include "scheduler/core/flight.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NO_PIDFD (-1)

struct workers {
    const struct control *control;
    struct scheduler *scheduler;
    const char *instance;
    int *pidfds; /* [workers_max]; NO_PIDFD where nobody is attached */
    uint64_t died_total;
    uint64_t settled_ns; /* when a step was settled last */
    struct fault fault;  /* the last refusal's, while its reply is written */
};

static uint32_t places_count(const struct workers *workers)
{
    return workers->control->header->geometry.workers_max;
}

struct workers *workers_create(const struct control *control, struct scheduler *scheduler,
                               const char *instance)
{
    struct workers *workers = calloc(1, sizeof *workers);
    if (workers == NULL)
        return NULL;
    workers->control = control;
    workers->scheduler = scheduler;
    workers->instance = instance;
    workers->pidfds = calloc(places_count(workers), sizeof *workers->pidfds);
    if (workers->pidfds == NULL) {
        free(workers);
        return NULL;
    }
    for (uint32_t i = 0; i < places_count(workers); i++)
        workers->pidfds[i] = NO_PIDFD;
    return workers;
}

void workers_destroy(struct workers *workers)
{
    if (workers == NULL)
        return;
    for (uint32_t i = 0; i < places_count(workers); i++)
        if (workers->pidfds[i] != NO_PIDFD)
            close(workers->pidfds[i]);
    free(workers->pidfds);
    free(workers);
}

static void record_life(const struct workers *workers, enum flight_kind kind,
                        uint32_t worker, uint64_t now_ns)
{
    flight_record(
        workers->control,
        (struct flight_event){.time_ns = now_ns,
                              .kind = kind,
                              .record = RECORD_NONE,
                              .a = worker,
                              .b = (uint32_t)workers->control->workers[worker].pid});
}

static bool is_attached(const struct workers *workers, uint32_t worker)
{
    return workers->pidfds[worker] != NO_PIDFD;
}

/* The place of exactly that process, or else a free one; workers_max when all are taken.
 */
static uint32_t find_place(const struct workers *workers,
                           const struct attach_request *request)
{
    uint32_t place = places_count(workers);
    for (uint32_t i = places_count(workers); i-- > 0;) {
        const struct worker_slot *slot = &workers->control->workers[i];
        if (!is_attached(workers, i))
            place = i;
        else if (slot->pid == request->pid && slot->start_ticks == request->start_ticks)
            return i;
    }
    return place;
}

static enum status take_place(struct workers *workers,
                              const struct attach_request *request, uint32_t *place,
                              uint64_t now_ns)
{
    struct fault *fault = &workers->fault;
    const struct geometry *geometry = &workers->control->header->geometry;
    if (request->model_identity.size != sizeof geometry->model_identity ||
        memcmp(request->model_identity.data, geometry->model_identity,
               sizeof geometry->model_identity) != 0)
        return fault_set(fault, STATUS_CONFLICT, "model",
                         "the worker has loaded another model file than the scheduler: "
                         "give both the same --model");
    *place = find_place(workers, request);
    if (*place == places_count(workers))
        return fault_set(fault, STATUS_UNAVAILABLE, "workers",
                         "all %u places for workers are taken", *place);
    if (is_attached(workers, *place))
        return STATUS_OK;
    int pidfd = process_open((pid_t)request->pid, request->start_ticks);
    if (pidfd < 0)
        return fault_set(fault, STATUS_NOT_FOUND, "pid",
                         "there is no process %lld that started then",
                         (long long)request->pid);
    struct worker_slot *slot = &workers->control->workers[*place];
    workers->pidfds[*place] = pidfd;
    slot->pid = (int32_t)request->pid;
    slot->start_ticks = request->start_ticks;
    slot->threads_count = request->threads_count;
    snprintf(slot->kernels, sizeof slot->kernels, "%.*s", (int)request->kernels.size,
             request->kernels.data);
    atomic_store_explicit(&slot->attached, 1, memory_order_release);
    record_life(workers, FLIGHT_WORKER_ATTACHED, *place, now_ns);
    log_info("worker attached worker=%u pid=%d threads=%u kernels=\"%s\"", *place,
             slot->pid, slot->threads_count, slot->kernels);
    return STATUS_OK;
}

void workers_attach(struct workers *workers, const struct attach_request *request,
                    uint64_t now_ns, struct attach_reply *reply)
{
    /* The worker's predecessor may have died since the last look. */
    workers_reap(workers, now_ns);
    *reply = (struct attach_reply){.generation = workers->control->header->generation,
                                   .instance = span_of(workers->instance)};
    reply->status = take_place(workers, request, &reply->worker, now_ns);
    if (reply->status != STATUS_OK) {
        reply->worker = 0;
        reply->sentence = span_of(workers->fault.sentence);
        log_warn("worker refused pid=%lld reason=\"%s\"", (long long)request->pid,
                 workers->fault.sentence);
    }
}

enum status workers_beat(const struct workers *workers,
                         const struct beat_request *request)
{
    bool is_known = request->worker < places_count(workers) &&
                    is_attached(workers, request->worker) &&
                    request->generation == workers->control->header->generation;
    return is_known ? STATUS_OK : STATUS_CONFLICT;
}

static void let_go(struct workers *workers, uint32_t worker, uint64_t now_ns)
{
    struct worker_slot *slot = &workers->control->workers[worker];
    bool was_running = scheduler_worker_step(workers->scheduler, worker) != STEP_NONE;
    log_warn("worker ended worker=%u pid=%d in_a_step=%d", worker, slot->pid,
             was_running);
    close(workers->pidfds[worker]);
    workers->pidfds[worker] = NO_PIDFD;
    workers->died_total++;
    atomic_store_explicit(&slot->attached, 0, memory_order_release);
    record_life(workers, FLIGHT_WORKER_DIED, worker, now_ns);
    scheduler_worker_died(workers->scheduler, worker, now_ns);
}

void workers_reap(struct workers *workers, uint64_t now_ns)
{
    for (uint32_t i = 0; i < places_count(workers); i++)
        if (is_attached(workers, i) && process_ended(workers->pidfds[i]))
            let_go(workers, i, now_ns);
}

static void log_step(const struct workers *workers, uint32_t slot, uint64_t now_ns)
{
    const struct step *step = step_at(workers->control, slot).step;
    log_debug("step number=%llu worker=%u attempt=%u sequences=%u rows=%u turn_us=%llu "
              "wake_us=%llu "
              "run_us=%llu matmul_us=%llu attention_us=%llu sample_us=%llu other_us=%llu",
              (unsigned long long)step->posted, step->worker, step->attempt,
              step->sequences_count, step->rows_count,
              (unsigned long long)(now_ns - step->posted_ns) / NS_PER_US,
              (unsigned long long)(step->started_ns - step->posted_ns) / NS_PER_US,
              (unsigned long long)(step->finished_ns - step->started_ns) / NS_PER_US,
              (unsigned long long)step->matmul_ns / NS_PER_US,
              (unsigned long long)step->attention_ns / NS_PER_US,
              (unsigned long long)step->sample_ns / NS_PER_US,
              (unsigned long long)step->other_ns / NS_PER_US);
}

void workers_drive(struct workers *workers, uint64_t now_ns)
{
    for (uint32_t i = 0; i < places_count(workers); i++) {
        uint32_t slot = scheduler_worker_step(workers->scheduler, i);
        if (slot != STEP_NONE && scheduler_commit(workers->scheduler, slot, now_ns)) {
            workers->settled_ns = now_ns;
            log_step(workers, slot, now_ns);
            slot = STEP_NONE;
        }
        if (slot != STEP_NONE || !is_attached(workers, i))
            continue;
        if (scheduler_plan(workers->scheduler, i, now_ns) != STEP_NONE)
            futex_ring(&workers->control->workers[i].bell);
    }
}

uint32_t workers_count(const struct workers *workers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < places_count(workers); i++)
        count += is_attached(workers, i);
    return count;
}

uint64_t workers_died_total(const struct workers *workers)
{
    return workers->died_total;
}

uint64_t workers_stalled_ns(const struct workers *workers, uint64_t now_ns)
{
    uint64_t stalled_ns = 0;
    for (uint32_t i = 0; i < places_count(workers); i++) {
        uint32_t slot = scheduler_worker_step(workers->scheduler, i);
        if (slot == STEP_NONE)
            continue;
        uint64_t since_ns = step_at(workers->control, slot).step->posted_ns;
        if (workers->settled_ns > since_ns)
            since_ns = workers->settled_ns;
        if (now_ns - since_ns > stalled_ns)
            stalled_ns = now_ns - since_ns;
    }
    return stalled_ns;
}
