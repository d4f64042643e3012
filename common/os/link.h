/* link.h - nng request-reply, turned into a bounded inbox that an event loop drains.
 *
 * Threads:  nng completes on threads of its own; there the message goes into the inbox
 *           and wake is called, and nothing else happens. wake must be safe from any
 *           thread (uv_async_send, futex_ring). Everything else is called from the
 *           owner's thread.
 * Rules:    one context for each outstanding request, never mixed with the socket's
 *           pollable descriptor; nng's own re-sending is off; messages over the bound are
 *           refused by nng (RECVMAXSZ), and a client refuses to send them. Never fork
 *           after opening one: exec children first, or posix_spawn.
 */
#ifndef ROPEWAY_COMMON_OS_LINK_H
#define ROPEWAY_COMMON_OS_LINK_H

#include "common/base/span.h"
#include "common/base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef void link_wake(void *data);

/* --- the answering side ------------------------------------------------------------- */
struct link_server;

struct link_request {
    uint32_t context;  /* answer with it, once */
    struct span bytes; /* until the answer */
};

enum status link_server_open(struct link_server **server, const char *url,
                             uint32_t contexts_count, size_t request_bytes_max,
                             link_wake *wake, void *wake_data, struct fault *fault);
/* Listens on one more url. */
enum status link_server_listen(struct link_server *server, const char *url,
                               struct fault *fault);
/* Requests not answered are dropped. */
void link_server_close(struct link_server *server);

/* The next request of the inbox, or false. */
bool link_server_next(struct link_server *server, struct link_request *request);
/* Sends and frees the context for the next request. How large a reply may be, its
 * receiver knows: the caller keeps to it. */
void link_server_reply(struct link_server *server, uint32_t context, struct span bytes);

/* --- the asking side ---------------------------------------------------------------- */
struct link_client;

struct link_reply {
    uint64_t tag;       /* the sender's */
    enum status status; /* STATUS_OK, STATUS_TIMEOUT, STATUS_UNAVAILABLE */
    struct span bytes;  /* until link_client_release */
    uint32_t context;
};

enum status link_client_open(struct link_client **client, const char *url,
                             uint32_t contexts_count, size_t message_bytes_max,
                             uint32_t timeout_ms, link_wake *wake, void *wake_data,
                             struct fault *fault);
void link_client_close(struct link_client *client);

/* False when every context is in use or bytes are over the bound. */
bool link_client_send(struct link_client *client, struct span bytes, uint64_t tag);
bool link_client_next(struct link_client *client, struct link_reply *reply);
void link_client_release(struct link_client *client, const struct link_reply *reply);

/* Sends and waits: for a worker's control thread and for tools. reply_bytes are malloc'd,
 * the caller frees them. */
enum status link_client_call(struct link_client *client, struct span bytes,
                             char **reply_bytes, size_t *reply_size, struct fault *fault);

#endif
