/* sink.h - where an answer goes: an HTTP connection, or a caller at the nng door.
 *
 * Life:    a handler is given a sink and answers it exactly once: with answer, or with
 *          begin, any number of pieces, and end. After answer or end, and once on_leave
 *          was called, the sink is no longer the handler's.
 * Thread:  the loop's.
 */
#ifndef ROPEWAY_FRONTEND_SINK_H
#define ROPEWAY_FRONTEND_SINK_H

#include "common/base/span.h"
#include "common/base/status.h"
#include <stdbool.h>
#include <stdint.h>

struct answer {
    int code;
    const char *content_type;
    const char *request_id; /* or NULL */
    const char *allow;      /* of 405 and 204, or NULL */
    uint32_t retry_after_s; /* 0: none */
    struct span body;
};

struct sink;

struct sink_calls {
    void (*answer)(struct sink *sink, const struct answer *answer);
    void (*begin)(struct sink *sink, const char *request_id);
    /* May call on_leave before it returns, when the client does not read. */
    void (*piece)(struct sink *sink, struct span piece);
    void (*end)(struct sink *sink);
};

struct sink {
    const struct sink_calls *calls;
    /* The client left before its answer was whole; a handler that answers later sets it.
     */
    void (*on_leave)(void *data);
    void *leave_data;
    bool answers_after_eof; /* a client that closed its sending half still gets it */
};

/* Answers with JSON, and with an error in OpenAI's form. */
void sink_json(struct sink *sink, struct span json);
void sink_fault(struct sink *sink, const struct fault *fault, uint32_t retry_after_s);

#endif
