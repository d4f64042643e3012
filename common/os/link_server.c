#include "common/os/link.h"

#include "common/base/invariant.h"
#include "common/os/link_context.h"
#include "common/os/link_inbox.h"
#include "common/os/link_listener.h"
#include <nng/protocol/reqrep0/rep.h>
#include <stdlib.h>

/* Where a context's one aio is: nng works on it in the first and last, the owner holds
 * the request in between. */
enum phase { RECEIVING, WITH_OWNER, SENDING };

struct server_context {
    struct link_server *server;
    uint32_t index;
    enum phase phase;
    struct link_context nng; /* received: the request */
};

struct link_server {
    nng_socket socket;
    struct link_listener listener; /* of the url that it was opened with */
    struct link_inbox inbox;
    uint32_t contexts_count;
    struct server_context contexts[];
};

static void receive(struct server_context *context)
{
    context->phase = RECEIVING;
    nng_ctx_recv(context->nng.ctx, context->nng.aio);
}

/* The socket is being closed: nothing more will come. */
static bool is_final(int result)
{
    return result == NNG_ECLOSED || result == NNG_ECANCELED;
}

/* On a thread of nng's. */
static void on_complete(void *data)
{
    struct server_context *context = data;
    int result = nng_aio_result(context->nng.aio);
    if (context->phase == SENDING && result != 0)
        link_context_drop_unsent(&context->nng);
    if (is_final(result))
        return;
    if (context->phase == SENDING || result != 0) {
        receive(context);
        return;
    }
    context->nng.received = nng_aio_get_msg(context->nng.aio);
    context->phase = WITH_OWNER;
    link_inbox_push(&context->server->inbox, context->index);
}

static void on_arrival(nng_pipe pipe, nng_pipe_ev event, void *data)
{
    struct link_server *server = data;
    (void)event;
    link_listener_met(&server->listener, pipe);
}

static int open_contexts(struct link_server *server, uint32_t count)
{
    for (uint32_t index = 0; index < count; index++) {
        struct server_context *context = &server->contexts[index];
        context->server = server;
        context->index = index;
        int error =
            link_context_open(&context->nng, server->socket, on_complete, context);
        if (error)
            return error;
        server->contexts_count++;
    }
    return 0;
}

static enum status cannot_listen(const char *url, int error, struct fault *fault)
{
    return fault_set(fault, STATUS_IO, NULL, "cannot listen on %s: %s", url,
                     nng_strerror(error));
}

enum status link_server_open(struct link_server **out, const char *url,
                             uint32_t contexts_count, size_t request_bytes_max,
                             link_wake *wake, void *wake_data, struct fault *fault)
{
    struct link_server *server =
        calloc(1, sizeof *server + contexts_count * sizeof server->contexts[0]);
    if (!server || !link_inbox_init(&server->inbox, contexts_count, wake, wake_data)) {
        free(server);
        return fault_set(fault, STATUS_INTERNAL, NULL, "out of memory for %s", url);
    }
    int error = nng_rep0_open(&server->socket);
    if (error) {
        link_inbox_fini(&server->inbox);
        free(server);
        return fault_set(fault, STATUS_IO, NULL, "no nng socket: %s",
                         nng_strerror(error));
    }
    error = nng_socket_set_size(server->socket, NNG_OPT_RECVMAXSZ, request_bytes_max);
    if (!error)
        error = open_contexts(server, contexts_count);
    if (!error)
        error = nng_pipe_notify(server->socket, NNG_PIPE_EV_ADD_PRE, on_arrival, server);
    if (!error)
        error = link_listener_open(&server->listener, server->socket, url);
    if (error) {
        link_server_close(server);
        return cannot_listen(url, error, fault);
    }
    for (uint32_t index = 0; index < contexts_count; index++)
        receive(&server->contexts[index]);
    *out = server;
    return STATUS_OK;
}

enum status link_server_listen(struct link_server *server, const char *url,
                               struct fault *fault)
{
    int error = nng_listen(server->socket, url, NULL, 0);
    return error ? cannot_listen(url, error, fault) : STATUS_OK;
}

void link_server_close(struct link_server *server)
{
    link_listener_stop(&server->listener);
    nng_close(server->socket);
    link_listener_close(&server->listener);
    for (uint32_t index = 0; index < server->contexts_count; index++)
        link_context_close(&server->contexts[index].nng);
    link_inbox_fini(&server->inbox);
    free(server);
}

bool link_server_next(struct link_server *server, struct link_request *request)
{
    uint32_t index;
    if (!link_inbox_pop(&server->inbox, &index))
        return false;
    nng_msg *message = server->contexts[index].nng.received;
    request->context = index;
    request->bytes = (struct span){nng_msg_body(message), nng_msg_len(message)};
    return true;
}

void link_server_reply(struct link_server *server, uint32_t index, struct span bytes)
{
    INVARIANT(index < server->contexts_count);
    struct server_context *context = &server->contexts[index];
    INVARIANT(context->phase == WITH_OWNER);
    link_context_drop_received(&context->nng);
    nng_msg *reply;
    if (nng_msg_alloc(&reply, bytes.size) != 0) {
        /* The asker's own time-out ends its wait. */
        receive(context);
        return;
    }
    memcpy(nng_msg_body(reply), bytes.data, bytes.size);
    nng_aio_set_msg(context->nng.aio, reply);
    context->phase = SENDING;
    nng_ctx_send(context->nng.ctx, context->nng.aio);
}
