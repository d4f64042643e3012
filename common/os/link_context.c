#include "common/os/link_context.h"

int link_context_open(struct link_context *context, nng_socket socket,
                      void (*on_complete)(void *data), void *data)
{
    int error = nng_ctx_open(&context->ctx, socket);
    if (error)
        return error;
    error = nng_aio_alloc(&context->aio, on_complete, data);
    if (error)
        nng_ctx_close(context->ctx);
    return error;
}

void link_context_close(struct link_context *context)
{
    nng_aio_stop(context->aio);
    link_context_drop_received(context);
    nng_aio_free(context->aio);
}

void link_context_drop_unsent(struct link_context *context)
{
    nng_msg_free(nng_aio_get_msg(context->aio));
    nng_aio_set_msg(context->aio, NULL);
}

void link_context_drop_received(struct link_context *context)
{
    if (context->received)
        nng_msg_free(context->received);
    context->received = NULL;
}
