/* link_context.h - one context of an nng socket, with the one aio that works on it.
 *
 * Not for others than link_server.c and link_client.c.
 */
#ifndef ROPEWAY_COMMON_OS_LINK_CONTEXT_H
#define ROPEWAY_COMMON_OS_LINK_CONTEXT_H

#include <nng/nng.h>

struct link_context {
    nng_ctx ctx;
    nng_aio *aio;
    nng_msg *received; /* while its owner reads it; else NULL */
};

/* on_complete is called with data on a thread of nng's. Returns nng's error, 0: none. */
int link_context_open(struct link_context *context, nng_socket socket,
                      void (*on_complete)(void *data), void *data);

/* After the socket was closed: waits for on_complete to return, if it runs. */
void link_context_close(struct link_context *context);

/* Frees a message whose sending failed: it is still ours. */
void link_context_drop_unsent(struct link_context *context);

void link_context_drop_received(struct link_context *context);

#endif
