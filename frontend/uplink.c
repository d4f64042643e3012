#include "frontend/uplink.h"

#include "common/base/invariant.h"
#include "common/base/time_units.h"
#include "common/os/log.h"
#include "frontend/server.h"
#include "frontend/uplink_internal.h"
#include <stdlib.h>
#include <sys/random.h>

#define CONTEXTS     64   /* calls on their way at once */
#define TIMEOUT_MS   5000 /* the scheduler answers these within a turn of its loop */
#define ATTEMPTS_MAX 3    /* so a restart of the scheduler, some seconds, is outlived */
#define BEAT_MS      1000
#define AWAY_NS      (5000 * NS_PER_MS) /* some beats without an answer */

enum call_kind { CALL_SUBMIT, CALL_CANCEL, CALL_STATUS };

/* One message until its reply, or until it is given up. */
struct uplink_call {
    struct uplink_call *previous, *next; /* of all calls */
    struct uplink_call *next_waiting;
    enum call_kind kind;
    uint32_t number; /* the caller's, of a submit */
    uint32_t attempts;
    union {
        uplink_submitted *submitted;
        uplink_told *told;
    } answer;
    void *data; /* NULL: nobody wants the answer any more */
    size_t size;
    char bytes[];
};

/* --- the list of calls ----------------------------------------------------------- */

static struct uplink_call *add_call(struct uplink *uplink, enum call_kind kind,
                                    void *data)
{
    if (uplink->out.failed || uplink->calls_count == UPLINK_CALLS_MAX)
        return NULL;
    struct uplink_call *call = malloc(sizeof *call + uplink->out.size);
    if (!call)
        return NULL;
    *call = (struct uplink_call){
        .kind = kind, .data = data, .size = uplink->out.size, .next = uplink->calls};
    memcpy(call->bytes, uplink->out.data, uplink->out.size);
    if (call->next)
        call->next->previous = call;
    uplink->calls = call;
    uplink->calls_count++;
    return call;
}

static void remove_call(struct uplink *uplink, struct uplink_call *call)
{
    if (call->previous)
        call->previous->next = call->next;
    else
        uplink->calls = call->next;
    if (call->next)
        call->next->previous = call->previous;
    uplink->calls_count--;
    free(call);
}

static void push_waiting(struct uplink *uplink, struct uplink_call *call)
{
    call->next_waiting = NULL;
    if (uplink->waiting_last)
        uplink->waiting_last->next_waiting = call;
    else
        uplink->waiting_first = call;
    uplink->waiting_last = call;
}

/* Sends waiting calls, in their order, while there are contexts. */
static void send_waiting(struct uplink *uplink)
{
    while (uplink->waiting_first) {
        struct uplink_call *call = uplink->waiting_first;
        struct span bytes = {call->bytes, call->size};
        if (!link_client_send(uplink->calls_link, bytes, (uint64_t)(uintptr_t)call))
            return;
        call->attempts++;
        uplink->waiting_first = call->next_waiting;
        if (!uplink->waiting_first)
            uplink->waiting_last = NULL;
    }
}

static void start_call(struct uplink *uplink, struct uplink_call *call)
{
    push_waiting(uplink, call);
    send_waiting(uplink);
}

/* --- answers --------------------------------------------------------------------- */

static void end_submit(struct uplink_call *call, const struct submit_reply *reply)
{
    if (call->data)
        call->answer.submitted(call->data, call->number, reply);
}

static void take_submit(struct uplink *uplink, struct uplink_call *call,
                        struct span bytes)
{
    struct submit_reply reply;
    struct fault fault;
    enum status status = submit_reply_decode(bytes, &reply, &uplink->arena, &fault);
    if (status != STATUS_OK) {
        log_error("a submit's reply cannot be read: %s", fault.sentence);
        reply = (struct submit_reply){.status = STATUS_INTERNAL,
                                      .sentence = SPAN_LITERAL("The scheduler's answer "
                                                               "could not be read.")};
    }
    end_submit(call, &reply);
}

static void take_status(struct uplink *uplink, struct uplink_call *call,
                        struct span bytes)
{
    struct status_reply reply;
    struct fault fault;
    enum status status = status_reply_decode(bytes, &reply, &uplink->arena, &fault);
    if (status != STATUS_OK)
        log_error("a status cannot be read: %s", fault.sentence);
    else
        uplink->context_length = reply.context_length;
    if (call->data)
        call->answer.told(call->data, status == STATUS_OK ? &reply : NULL);
}

static void take_answer(struct uplink *uplink, struct uplink_call *call,
                        struct span bytes)
{
    uplink->heard_ns = uv_hrtime();
    if (call->kind == CALL_SUBMIT)
        take_submit(uplink, call, bytes);
    else if (call->kind == CALL_STATUS)
        take_status(uplink, call, bytes);
}

/* No answer will come. */
static void give_up(struct uplink *uplink, struct uplink_call *call)
{
    struct submit_reply reply = {.status = STATUS_UNAVAILABLE,
                                 .sentence =
                                     SPAN_LITERAL("The scheduler does not answer."),
                                 .retry_after_s = 1};
    if (call->kind == CALL_SUBMIT)
        end_submit(call, &reply);
    else if (call->kind == CALL_STATUS && call->data)
        call->answer.told(call->data, NULL);
    remove_call(uplink, call);
}

static void take_reply(struct uplink *uplink, const struct link_reply *reply)
{
    struct uplink_call *call = (struct uplink_call *)(uintptr_t)reply->tag;
    bool may_try_again = call->kind != CALL_STATUS && call->attempts < ATTEMPTS_MAX;
    if (reply->status == STATUS_OK) {
        take_answer(uplink, call, reply->bytes);
        remove_call(uplink, call);
    } else if (may_try_again) {
        push_waiting(uplink, call);
    } else {
        give_up(uplink, call);
    }
}

static void on_wake(uv_async_t *async)
{
    struct uplink *uplink = async->data;
    struct link_reply reply;
    while (uplink->calls_link && link_client_next(uplink->calls_link, &reply)) {
        take_reply(uplink, &reply);
        link_client_release(uplink->calls_link, &reply);
    }
    if (uplink->calls_link)
        send_waiting(uplink);
}

static void wake(void *data)
{
    struct uplink *uplink = data;
    uv_async_send(&uplink->calls_wake);
}

/* --- what callers ask for -------------------------------------------------------- */

bool uplink_submit(struct uplink *uplink, struct submit_request *submit,
                   uplink_submitted *submitted, void *data, uint32_t number)
{
    submit->frontend = uplink->frontend;
    buffer_clear(&uplink->out);
    submit_request_encode(submit, &uplink->out);
    struct uplink_call *call = add_call(uplink, CALL_SUBMIT, data);
    if (!call)
        return false;
    call->number = number;
    call->answer.submitted = submitted;
    start_call(uplink, call);
    return true;
}

void uplink_cancel(struct uplink *uplink, const char *id, uint32_t choice,
                   enum finish_reason reason)
{
    struct cancel_request cancel = {.frontend = uplink->frontend,
                                    .id = span_of(id),
                                    .choice = choice,
                                    .finish_reason = reason};
    buffer_clear(&uplink->out);
    cancel_request_encode(&cancel, &uplink->out);
    struct uplink_call *call = add_call(uplink, CALL_CANCEL, NULL);
    if (call)
        start_call(uplink, call);
    else
        log_error("a cancel was lost: too many calls wait calls=%u", uplink->calls_count);
}

void uplink_status(struct uplink *uplink, uplink_told *told, void *data)
{
    struct status_request status = {.counters = true};
    buffer_clear(&uplink->out);
    status_request_encode(&status, &uplink->out);
    struct uplink_call *call =
        uplink_is_up(uplink) || told == NULL ? add_call(uplink, CALL_STATUS, data) : NULL;
    if (!call) {
        if (told)
            told(data, NULL);
        return;
    }
    call->answer.told = told;
    start_call(uplink, call);
}

void uplink_forget(struct uplink *uplink, const void *data)
{
    for (struct uplink_call *call = uplink->calls; call; call = call->next)
        if (call->data == data)
            call->data = NULL;
}

bool uplink_is_up(const struct uplink *uplink)
{
    return uplink->heard_ns != 0 && uv_hrtime() - uplink->heard_ns < AWAY_NS;
}

bool uplink_is_idle(const struct uplink *uplink)
{
    for (const struct uplink_call *call = uplink->calls; call; call = call->next)
        if (call->kind != CALL_STATUS)
            return false;
    return true;
}

uint32_t uplink_context_length(const struct uplink *uplink)
{
    return uplink->context_length;
}

/* Nobody waits for this answer: taking it notes that the scheduler lives, and how long
 * its contexts are. At most one is under way, so that a dead scheduler piles none up. */
static void on_beat(uv_timer_t *timer)
{
    struct uplink *uplink = timer->data;
    for (struct uplink_call *call = uplink->calls; call; call = call->next)
        if (call->kind == CALL_STATUS && !call->data)
            return;
    uplink_status(uplink, NULL, NULL);
}

/* --- life ------------------------------------------------------------------------ */

void uplink_on_closed(uv_handle_t *handle)
{
    struct uplink *uplink = handle->data;
    if (--uplink->handles_open > 0)
        return;
    for (struct uplink_call *call = uplink->calls, *next; call; call = next) {
        next = call->next;
        free(call);
    }
    buffer_fini(&uplink->out);
    buffer_fini(&uplink->arena);
    free(uplink);
}

static uint64_t draw_identity(void)
{
    uint64_t identity = 0;
    while (identity == 0)
        INVARIANT(getrandom(&identity, sizeof identity, 0) == sizeof identity);
    return identity;
}

static enum status open_handles(struct uplink *uplink, uv_loop_t *loop,
                                struct fault *fault)
{
    int error = uv_async_init(loop, &uplink->calls_wake, on_wake);
    if (error)
        return server_no_wake(error, fault);
    uv_timer_init(loop, &uplink->beat);
    uplink->calls_wake.data = uplink;
    uplink->beat.data = uplink;
    uplink->handles_open = 2;
    return STATUS_OK;
}

enum status uplink_open(struct uplink **out, uv_loop_t *loop, const char *url,
                        uint32_t context_length, const struct uplink_events *events,
                        struct fault *fault)
{
    struct uplink *uplink = calloc(1, sizeof *uplink);
    if (!uplink)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "There is no memory to start.");
    uplink->frontend = draw_identity();
    uplink->events = *events;
    uplink->context_length = context_length;
    buffer_init(&uplink->out, MESSAGE_BYTES_MAX);
    buffer_init(&uplink->arena, MESSAGE_BYTES_MAX);
    *out = uplink;
    enum status status = open_handles(uplink, loop, fault);
    if (status == STATUS_OK)
        status = link_client_open(&uplink->calls_link, url, CONTEXTS, MESSAGE_BYTES_MAX,
                                  TIMEOUT_MS, wake, uplink, fault);
    if (status == STATUS_OK)
        status = uplink_poll_open(uplink, loop, url, fault);
    if (status == STATUS_OK)
        uv_timer_start(&uplink->beat, on_beat, 0, BEAT_MS);
    return status;
}

void uplink_close(struct uplink *uplink)
{
    if (uplink->calls_link)
        link_client_close(uplink->calls_link);
    uplink->calls_link = NULL;
    uplink_poll_close(uplink);
    uv_close((uv_handle_t *)&uplink->calls_wake, uplink_on_closed);
    uv_close((uv_handle_t *)&uplink->beat, uplink_on_closed);
}
