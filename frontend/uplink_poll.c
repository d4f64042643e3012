/* uplink_poll.c - the one outstanding poll, its numbers and its cursors. */
#include "frontend/uplink_internal.h"

#include "common/base/invariant.h"
#include "common/os/log.h"
#include "frontend/server.h"

#define HOLD_MS    5000  /* one message in so long while nothing happens */
#define TIMEOUT_MS 15000 /* far above the hold: only a lost reply takes so long */
#define PAUSE_MS   200   /* after a refusal: few tries until the scheduler is back */

static void send_poll(struct uplink *uplink)
{
    static struct poll_cursor cursors[POLL_CURSORS_MAX];
    struct poll_request poll = {.frontend = uplink->frontend,
                                .number = uplink->poll_number,
                                .hold_ms = HOLD_MS,
                                .cursors = cursors};
    if (uplink->poll_cursors)
        poll.cursors_count =
            uplink->events.cursors(uplink->events.data, cursors, POLL_CURSORS_MAX);
    buffer_clear(&uplink->out);
    poll_request_encode(&poll, &uplink->out);
    INVARIANT(!uplink->out.failed);
    /* One context and one poll: it is free whenever we come here, unless memory is out.
     */
    if (!link_client_send(uplink->poll_link, buffer_span(&uplink->out), 0))
        uv_timer_again(&uplink->poll_pause);
}

static void on_pause_over(uv_timer_t *timer)
{
    struct uplink *uplink = timer->data;
    uv_timer_stop(timer);
    send_poll(uplink);
}

static void pause_poll(struct uplink *uplink)
{
    uv_timer_start(&uplink->poll_pause, on_pause_over, PAUSE_MS, PAUSE_MS);
}

/* The scheduler does not know us, or is another one: we begin anew with our cursors. */
static void begin_anew(struct uplink *uplink, uint32_t generation)
{
    log_info("the scheduler is asked anew with cursors generation=%u", generation);
    uplink->generation = generation;
    uplink->poll_number = 1;
    uplink->poll_cursors = true;
}

static void take_events(struct uplink *uplink, const struct poll_reply *reply)
{
    bool is_other = uplink->generation != 0 && uplink->generation != reply->generation;
    uplink->generation = reply->generation;
    uplink->poll_cursors = false;
    uplink->poll_number++;
    for (uint32_t index = 0; index < reply->events_count; index++)
        uplink->events.event(uplink->events.data, &reply->events[index]);
    if (is_other)
        begin_anew(uplink, reply->generation);
}

/* Returns whether to ask again at once. */
static bool take_reply(struct uplink *uplink, const struct link_reply *received)
{
    struct poll_reply reply;
    struct fault fault;
    if (received->status != STATUS_OK)
        return received->status == STATUS_TIMEOUT;
    if (poll_reply_decode(received->bytes, &reply, &uplink->arena, &fault) != STATUS_OK) {
        log_error("a poll's reply cannot be read: %s", fault.sentence);
        return false;
    }
    if (reply.status == STATUS_NOT_FOUND) {
        begin_anew(uplink, reply.generation);
        return true;
    }
    if (reply.status != STATUS_OK) {
        log_warn("the scheduler refused a poll: %.*s", (int)reply.sentence.size,
                 reply.sentence.size ? reply.sentence.data : "");
        return false;
    }
    take_events(uplink, &reply);
    return true;
}

static void on_wake(uv_async_t *async)
{
    struct uplink *uplink = async->data;
    struct link_reply reply;
    while (uplink->poll_link && link_client_next(uplink->poll_link, &reply)) {
        bool at_once = take_reply(uplink, &reply);
        link_client_release(uplink->poll_link, &reply);
        if (at_once)
            send_poll(uplink);
        else
            pause_poll(uplink);
    }
}

static void wake(void *data)
{
    struct uplink *uplink = data;
    uv_async_send(&uplink->poll_wake);
}

enum status uplink_poll_open(struct uplink *uplink, uv_loop_t *loop, const char *url,
                             struct fault *fault)
{
    int error = uv_async_init(loop, &uplink->poll_wake, on_wake);
    if (error)
        return server_no_wake(error, fault);
    uv_timer_init(loop, &uplink->poll_pause);
    uplink->poll_wake.data = uplink;
    uplink->poll_pause.data = uplink;
    uplink->handles_open += 2;
    uplink->poll_number = 1;
    enum status status = link_client_open(&uplink->poll_link, url, 1, MESSAGE_BYTES_MAX,
                                          TIMEOUT_MS, wake, uplink, fault);
    if (status == STATUS_OK)
        send_poll(uplink);
    return status;
}

void uplink_poll_close(struct uplink *uplink)
{
    if (uplink->poll_link)
        link_client_close(uplink->poll_link);
    uplink->poll_link = NULL;
    uv_close((uv_handle_t *)&uplink->poll_wake, uplink_on_closed);
    uv_close((uv_handle_t *)&uplink->poll_pause, uplink_on_closed);
}

void uplink_resync(struct uplink *uplink)
{
    uplink->poll_cursors = true;
}
