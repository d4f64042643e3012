#include "common/os/link.h"

#include "common/base/invariant.h"
#include "common/os/link_context.h"
#include "common/os/link_dialer.h"
#include "common/os/link_inbox.h"
#include <nng/protocol/reqrep0/req.h>
#include <stdlib.h>

enum phase { IDLE, SENDING, RECEIVING, WITH_OWNER };

struct client_context {
    struct link_client *client;
    uint32_t index;
    uint32_t next_idle; /* the idle list belongs to the owner's thread */
    enum phase phase;
    uint64_t tag;
    uint32_t losses_count; /* the client's, when this request was sent */
    int result;
    struct link_context nng; /* received: the reply */
};

#define NO_CONTEXT UINT32_MAX

struct link_client {
    nng_socket socket;
    struct link_dialer dialer;
    _Atomic uint32_t losses_count; /* connections that went away */
    size_t message_bytes_max;
    struct link_inbox inbox;
    uint32_t first_idle;
    uint32_t contexts_count;
    struct client_context contexts[];
};

/* On a thread of nng's. */
static void on_complete(void *data)
{
    struct client_context *context = data;
    context->result = nng_aio_result(context->nng.aio);
    if (context->phase == SENDING && context->result == 0) {
        context->phase = RECEIVING;
        nng_ctx_recv(context->nng.ctx, context->nng.aio);
        /* on_pipe_gone may have come between, when there was nothing to abort. */
        if (context->losses_count != context->client->losses_count)
            nng_aio_abort(context->nng.aio, NNG_ECONNRESET);
        return;
    }
    if (context->phase == SENDING)
        link_context_drop_unsent(&context->nng);
    else if (context->result == 0)
        context->nng.received = nng_aio_get_msg(context->nng.aio);
    context->phase = WITH_OWNER;
    link_inbox_push(&context->client->inbox, context->index);
}

/* The peer went away: whoever waits for it is told now, and not at the time-out. nng 1.5
 * would send the requests again to the peer's successor. Aborting an idle aio does
 * nothing. */
static void on_pipe_gone(nng_pipe pipe, nng_pipe_ev event, void *data)
{
    struct link_client *client = data;
    (void)pipe;
    (void)event;
    client->losses_count++;
    link_dialer_lost(&client->dialer);
    for (uint32_t index = 0; index < client->contexts_count; index++)
        nng_aio_abort(client->contexts[index].nng.aio, NNG_ECONNRESET);
}

/* Called for exactly those connections of which on_pipe_gone tells, so that a count of
 * them is right: a connection may end before nng's ADD_POST. */
static void on_pipe_there(nng_pipe pipe, nng_pipe_ev event, void *data)
{
    struct link_client *client = data;
    (void)pipe;
    (void)event;
    link_dialer_gained(&client->dialer);
}

static int open_contexts(struct link_client *client, uint32_t count, uint32_t timeout_ms)
{
    client->first_idle = NO_CONTEXT;
    for (uint32_t index = 0; index < count; index++) {
        struct client_context *context = &client->contexts[index];
        context->client = client;
        context->index = index;
        int error =
            link_context_open(&context->nng, client->socket, on_complete, context);
        if (error)
            return error;
        nng_aio_set_timeout(context->nng.aio, (nng_duration)timeout_ms);
        context->next_idle = client->first_idle;
        client->first_idle = index;
        client->contexts_count++;
    }
    return 0;
}

/* The peer need not be there yet: dialling goes on behind. Re-sending is off, since a
 * request is idempotent by its own fields and sent again by its owner. */
static int connect_socket(struct link_client *client, const char *url)
{
    nng_socket socket = client->socket;
    int error = nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, client->message_bytes_max);
    if (!error)
        error = nng_socket_set_ms(socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
    if (!error)
        error = nng_pipe_notify(socket, NNG_PIPE_EV_ADD_PRE, on_pipe_there, client);
    if (!error)
        error = nng_pipe_notify(socket, NNG_PIPE_EV_REM_POST, on_pipe_gone, client);
    if (!error)
        error = link_dialer_open(&client->dialer, socket, url);
    return error;
}

enum status link_client_open(struct link_client **out, const char *url,
                             uint32_t contexts_count, size_t message_bytes_max,
                             uint32_t timeout_ms, link_wake *wake, void *wake_data,
                             struct fault *fault)
{
    struct link_client *client =
        calloc(1, sizeof *client + contexts_count * sizeof client->contexts[0]);
    if (!client || !link_inbox_init(&client->inbox, contexts_count, wake, wake_data)) {
        free(client);
        return fault_set(fault, STATUS_INTERNAL, NULL, "out of memory for %s", url);
    }
    client->message_bytes_max = message_bytes_max;
    int error = nng_req0_open(&client->socket);
    if (error) {
        link_inbox_fini(&client->inbox);
        free(client);
        return fault_set(fault, STATUS_IO, NULL, "no nng socket: %s",
                         nng_strerror(error));
    }
    error = open_contexts(client, contexts_count, timeout_ms);
    if (!error)
        error = connect_socket(client, url);
    if (error) {
        link_client_close(client);
        return fault_set(fault, STATUS_IO, NULL, "cannot dial %s: %s", url,
                         nng_strerror(error));
    }
    *out = client;
    return STATUS_OK;
}

void link_client_close(struct link_client *client)
{
    link_dialer_stop(&client->dialer);
    nng_close(client->socket);
    link_dialer_close(&client->dialer);
    for (uint32_t index = 0; index < client->contexts_count; index++)
        link_context_close(&client->contexts[index].nng);
    link_inbox_fini(&client->inbox);
    free(client);
}

bool link_client_send(struct link_client *client, struct span bytes, uint64_t tag)
{
    nng_msg *message;
    uint32_t index = client->first_idle;
    if (index == NO_CONTEXT || bytes.size > client->message_bytes_max ||
        nng_msg_alloc(&message, bytes.size) != 0)
        return false;
    struct client_context *context = &client->contexts[index];
    client->first_idle = context->next_idle;
    memcpy(nng_msg_body(message), bytes.data, bytes.size);
    context->tag = tag;
    context->losses_count = client->losses_count;
    context->phase = SENDING;
    nng_aio_set_msg(context->nng.aio, message);
    nng_ctx_send(context->nng.ctx, context->nng.aio);
    return true;
}

static void fill_reply(struct client_context *context, struct link_reply *reply)
{
    *reply = (struct link_reply){.tag = context->tag, .context = context->index};
    nng_msg *received = context->nng.received;
    if (received) {
        reply->bytes = (struct span){nng_msg_body(received), nng_msg_len(received)};
        return;
    }
    reply->status =
        context->result == NNG_ETIMEDOUT ? STATUS_TIMEOUT : STATUS_UNAVAILABLE;
}

bool link_client_next(struct link_client *client, struct link_reply *reply)
{
    uint32_t index;
    if (!link_inbox_pop(&client->inbox, &index))
        return false;
    fill_reply(&client->contexts[index], reply);
    return true;
}

void link_client_release(struct link_client *client, const struct link_reply *reply)
{
    INVARIANT(reply->context < client->contexts_count);
    struct client_context *context = &client->contexts[reply->context];
    INVARIANT(context->phase == WITH_OWNER);
    link_context_drop_received(&context->nng);
    context->phase = IDLE;
    context->next_idle = client->first_idle;
    client->first_idle = context->index;
}

/* Moves a reply's bytes into memory of the caller's. */
static enum status take_reply(const struct link_reply *reply, char **bytes, size_t *size,
                              struct fault *fault)
{
    if (reply->status == STATUS_TIMEOUT)
        return fault_set(fault, STATUS_TIMEOUT, NULL, "no answer in time");
    if (reply->status)
        return fault_set(fault, reply->status, NULL, "the connection was lost");
    *bytes = malloc(reply->bytes.size + 1);
    if (!*bytes)
        return fault_set(fault, STATUS_INTERNAL, NULL, "out of memory for a reply");
    memcpy(*bytes, reply->bytes.data, reply->bytes.size);
    *size = reply->bytes.size;
    return STATUS_OK;
}

enum status link_client_call(struct link_client *client, struct span bytes,
                             char **reply_bytes, size_t *reply_size, struct fault *fault)
{
    if (!link_client_send(client, bytes, 0))
        return fault_set(fault, STATUS_TOO_LARGE, NULL,
                         "%zu bytes cannot be sent: %zu is the most", bytes.size,
                         client->message_bytes_max);
    struct link_reply reply;
    fill_reply(&client->contexts[link_inbox_wait(&client->inbox)], &reply);
    enum status status = take_reply(&reply, reply_bytes, reply_size, fault);
    link_client_release(client, &reply);
    return status;
}
