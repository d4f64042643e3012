#include "scheduler/service.h"

#include "common/base/invariant.h"
#include "common/base/time_units.h"
#include "common/os/log.h"
#include "scheduler/core/request.h"
#include <sys/random.h>

/* A message takes microseconds: a flood of them delays a step by a millisecond or so. */
#define TURN_MESSAGES_MAX 64

void service_init(struct service *service, const struct control *control,
                  struct scheduler *scheduler, struct frontends *frontends,
                  struct workers *workers, uint32_t prefill_chunk)
{
    *service = (struct service){.control = control,
                                .scheduler = scheduler,
                                .frontends = frontends,
                                .workers = workers,
                                .prefill_chunk = prefill_chunk,
                                .drain_context = HELD_NONE};
    buffer_init(&service->out, MESSAGE_BYTES_MAX);
    buffer_init(&service->arena, MESSAGE_BYTES_MAX);
}

void service_fini(struct service *service)
{
    buffer_fini(&service->arena);
    buffer_fini(&service->out);
}

/* Sends what was encoded into out. Replies are bounded below the buffer, so one that does
 * not fit is our own fault; the asker still gets an answer. */
static void reply(struct service *service, uint32_t context)
{
    if (service->out.failed) {
        log_error("a reply did not fit its message bytes_max=%u", MESSAGE_BYTES_MAX);
        struct submit_reply failure = {
            .status = STATUS_INTERNAL,
            .sentence = SPAN_LITERAL("the answer did not fit its message")};
        buffer_clear(&service->out);
        submit_reply_encode(&failure, &service->out);
    }
    link_server_reply(service->server, context, buffer_span(&service->out));
}

/* The seed of a request that brought none: drawn once, and kept in its record. */
static uint64_t draw_seed(void)
{
    uint64_t seed;
    INVARIANT(getrandom(&seed, sizeof seed, 0) == sizeof seed);
    return seed;
}

static enum status take_in(struct service *service, const struct submit_request *submit,
                           uint64_t now_ns, uint32_t *retry_after_s, struct fault *fault)
{
    uint32_t record;
    enum status status =
        frontends_meet(service->frontends, submit->frontend, now_ns, fault);
    if (status == STATUS_OK)
        status = scheduler_submit(service->scheduler, submit,
                                  submit->has_seed ? 0 : draw_seed(), now_ns, &record,
                                  retry_after_s, fault);
    if (status == STATUS_OK)
        frontends_carry(service->frontends, record, submit->frontend);
    return status;
}

static enum status answer_submit(struct service *service, struct span bytes,
                                 uint64_t now_ns, struct fault *fault)
{
    struct submit_request submit;
    struct submit_reply answer = {.generation = service->control->header->generation};
    enum status status = submit_request_decode(bytes, &submit, &service->arena, fault);
    if (status == STATUS_OK)
        status = take_in(service, &submit, now_ns, &answer.retry_after_s, fault);
    answer.status = status;
    if (status != STATUS_OK) {
        answer.param = span_of(fault->param);
        answer.sentence = span_of(fault->sentence);
    }
    submit_reply_encode(&answer, &service->out);
    return STATUS_OK;
}

static void answer_cancel(struct service *service, const struct cancel_request *cancel,
                          uint64_t now_ns)
{
    struct cancel_reply answer = {.status = STATUS_OK};
    uint32_t record =
        scheduler_find(service->scheduler, cancel->frontend, cancel->id, cancel->choice);
    answer.found = record != RECORD_NONE &&
                   service->control->records[record].frontend == cancel->frontend;
    if (answer.found) {
        /* Nothing else may be asked for: the other reasons are the scheduler's to give.
         */
        enum finish_reason reason =
            cancel->finish_reason == FINISH_STOP ? FINISH_STOP : FINISH_CANCELLED;
        frontends_freeze(service->frontends, record);
        scheduler_cancel(service->scheduler, record, reason, now_ns);
    }
    cancel_reply_encode(&answer, &service->out);
}

static void answer_status(struct service *service, uint64_t now_ns)
{
    const struct geometry *geometry = &service->control->header->geometry;
    const struct scheduler_counters *counters = scheduler_counters(service->scheduler);
    struct scheduler_counts counts = scheduler_counts(service->scheduler);
    struct status_reply answer = {
        .status = STATUS_OK,
        .generation = service->control->header->generation,
        .workers_count = workers_count(service->workers),
        .running_count = counts.running,
        .waiting_count = counts.waiting,
        .blocks_count = geometry->blocks_count,
        .blocks_free_count = counts.blocks_free,
        .block_size = geometry->block_size,
        .slots_count = counts.slots,
        .context_length = geometry->context_length,
        .vocabulary_count = geometry->vocabulary_count,
        .step_rows_max = geometry->step_rows_max,
        .prefill_chunk = service->prefill_chunk,
        .heartbeat_age_ns = workers_stalled_ns(service->workers, now_ns),
        .received_total = counters->received,
        .finished_stop_total = counters->finished[FINISH_STOP],
        .finished_length_total = counters->finished[FINISH_LENGTH],
        .aborted_total = counters->finished[FINISH_CANCELLED],
        .failed_total = counters->finished[FINISH_FAILED],
        .rejected_total = counters->rejected,
        .timed_out_total = counters->finished[FINISH_TIMED_OUT],
        .prompt_tokens_total = counters->prompt_tokens,
        .generation_tokens_total = counters->generation_tokens,
        .prefix_queries_total = counters->prefix_queries,
        .prefix_hits_total = counters->prefix_hits,
        .iterations_total = counters->iterations,
        .worker_restarts_total = workers_died_total(service->workers),
        .replayed_steps_total = counters->replayed_steps,
        .waits_slot_ns_total = counters->waited_ns[BLOCKED_SLOT],
        .waits_kv_blocks_ns_total = counters->waited_ns[BLOCKED_KV_BLOCKS],
        .waits_token_budget_ns_total = counters->waited_ns[BLOCKED_TOKEN_BUDGET]};
    status_reply_encode(&answer, &service->out);
}

static void refuse_poll(struct service *service, const struct poll_request *poll,
                        const struct fault *fault)
{
    struct poll_reply answer = {.status = fault->status,
                                .sentence = span_of(fault->sentence),
                                .generation = service->control->header->generation,
                                .number = poll->number};
    poll_reply_encode(&answer, &service->out);
}

/* Frees the context of a poll whose frontend has given it up. */
static void drop_poll(struct service *service, uint32_t context)
{
    struct fault fault;
    struct poll_request none = {.number = 0};
    fault_set(&fault, STATUS_CONFLICT, "", "a newer poll of this frontend has come");
    refuse_poll(service, &none, &fault);
    reply(service, context);
    buffer_clear(&service->out);
}

static void hold_poll(struct service *service, const struct poll_request *poll,
                      uint32_t context, uint64_t now_ns)
{
    struct fault fault;
    uint32_t dropped = HELD_NONE;
    enum status status =
        frontends_meet(service->frontends, poll->frontend, now_ns, &fault);
    if (status == STATUS_OK)
        status =
            frontends_poll(service->frontends, poll, context, now_ns, &dropped, &fault);
    if (dropped != HELD_NONE)
        drop_poll(service, dropped);
    if (status == STATUS_OK)
        return;
    refuse_poll(service, poll, &fault);
    reply(service, context);
}

static uint32_t left_count(const struct service *service)
{
    struct scheduler_counts counts = scheduler_counts(service->scheduler);
    return counts.running + counts.waiting;
}

static void answer_drain(struct service *service, uint32_t context)
{
    struct drain_reply answer = {.status = STATUS_OK, .left_count = left_count(service)};
    buffer_clear(&service->out);
    drain_reply_encode(&answer, &service->out);
    reply(service, context);
}

static void hold_drain(struct service *service, const struct drain_request *drain,
                       uint32_t context, uint64_t now_ns)
{
    log_info("draining left=%u timeout_ms=%u", left_count(service), drain->timeout_ms);
    scheduler_set_draining(service->scheduler, true);
    if (service->drain_context != HELD_NONE)
        answer_drain(service, service->drain_context);
    service->drain_context = context;
    service->drain_until_ns = now_ns + drain->timeout_ms * NS_PER_MS;
}

/* Reads and answers one message. Not STATUS_OK: it could not be read, and out holds
 * nothing. *held is set when it is answered later or was already. */
static enum status answer(struct service *service, enum message_op op,
                          const struct link_request *request, uint64_t now_ns, bool *held,
                          struct fault *fault)
{
    struct buffer *arena = &service->arena;
    struct span bytes = request->bytes;
    enum status status = STATUS_OK;
    union {
        struct poll_request poll;
        struct cancel_request cancel;
        struct status_request status;
        struct drain_request drain;
        struct attach_request attach;
        struct beat_request beat;
    } message;
    switch (op) {
    case OP_SUBMIT:
        return answer_submit(service, bytes, now_ns, fault);
    case OP_POLL:
        status = poll_request_decode(bytes, &message.poll, arena, fault);
        if (status == STATUS_OK)
            hold_poll(service, &message.poll, request->context, now_ns);
        *held = status == STATUS_OK;
        return status;
    case OP_CANCEL:
        status = cancel_request_decode(bytes, &message.cancel, arena, fault);
        if (status == STATUS_OK)
            answer_cancel(service, &message.cancel, now_ns);
        return status;
    case OP_STATUS:
        status = status_request_decode(bytes, &message.status, arena, fault);
        if (status == STATUS_OK)
            answer_status(service, now_ns);
        return status;
    case OP_DRAIN:
        status = drain_request_decode(bytes, &message.drain, arena, fault);
        if (status == STATUS_OK)
            hold_drain(service, &message.drain, request->context, now_ns);
        *held = status == STATUS_OK;
        return status;
    case OP_ATTACH:
        status = attach_request_decode(bytes, &message.attach, arena, fault);
        if (status == STATUS_OK) {
            struct attach_reply attached;
            workers_attach(service->workers, &message.attach, now_ns, &attached);
            attach_reply_encode(&attached, &service->out);
        }
        return status;
    case OP_BEAT:
        status = beat_request_decode(bytes, &message.beat, arena, fault);
        if (status == STATUS_OK) {
            struct beat_reply beaten = {workers_beat(service->workers, &message.beat)};
            beat_reply_encode(&beaten, &service->out);
        }
        return status;
    default:
        return fault_set(fault, STATUS_MALFORMED, "op", "no such operation");
    }
}

/* Answers what could not be read: with a submit's reply, which has room for the sentence.
 */
static void refuse(struct service *service, const struct fault *fault)
{
    struct submit_reply refusal = {.status = fault->status,
                                   .param = span_of(fault->param),
                                   .sentence = span_of(fault->sentence),
                                   .generation = service->control->header->generation};
    buffer_clear(&service->out);
    submit_reply_encode(&refusal, &service->out);
    log_warn("message refused reason=\"%s\"", fault->sentence);
}

bool service_receive(struct service *service, uint64_t now_ns)
{
    struct link_request request;
    for (uint32_t count = 0; count < TURN_MESSAGES_MAX; count++) {
        if (!link_server_next(service->server, &request))
            return false;
        struct fault fault;
        enum message_op op;
        bool held = false;
        buffer_clear(&service->out);
        buffer_clear(&service->arena);
        enum status status = message_op(request.bytes, &op, &fault);
        if (status == STATUS_OK)
            status = answer(service, op, &request, now_ns, &held, &fault);
        if (status != STATUS_OK)
            refuse(service, &fault);
        if (!held)
            reply(service, request.context);
    }
    return true;
}

void service_answer_held(struct service *service, uint64_t now_ns)
{
    struct poll_reply ready;
    uint32_t context, record;
    while ((record = scheduler_next_news(service->scheduler)) != RECORD_NONE)
        frontends_note(service->frontends, record);
    while ((context = frontends_next_ready(service->frontends, now_ns, &ready)) !=
           HELD_NONE) {
        buffer_clear(&service->out);
        poll_reply_encode(&ready, &service->out);
        reply(service, context);
    }
    if (service->drain_context != HELD_NONE &&
        (left_count(service) == 0 || now_ns >= service->drain_until_ns)) {
        answer_drain(service, service->drain_context);
        service->drain_context = HELD_NONE;
    }
}

uint64_t service_next_deadline_ns(const struct service *service)
{
    uint64_t deadline_ns = frontends_next_deadline_ns(service->frontends);
    bool drain_is_first =
        service->drain_context != HELD_NONE && service->drain_until_ns < deadline_ns;
    return drain_is_first ? service->drain_until_ns : deadline_ns;
}
