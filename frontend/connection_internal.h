/* connection_internal.h - shared by connection.c (requests in, answers out) and
 * connection_io.c (bytes out, deadlines, the end). */
#ifndef ROPEWAY_FRONTEND_CONNECTION_INTERNAL_H
#define ROPEWAY_FRONTEND_CONNECTION_INTERNAL_H

#include "frontend/connection.h"
#include "frontend/core/http_reader.h"
#include "frontend/sink.h"

/* What the one timer of a connection runs for. */
enum wait {
    WAIT_NOTHING,
    WAIT_TURN, /* of the event loop: the others are served meanwhile */
    WAIT_IDLE,
    WAIT_HEADERS,
    WAIT_BODY,
    WAIT_WRITE,
    WAIT_LINGER,
    WAIT_PEER,
    WAITS
};

struct connection {
    uv_tcp_t tcp;
    uv_timer_t timer;
    struct server *server;
    struct connection *previous, *next;
    struct http_reader reader;
    struct buffer input; /* parsed_bytes, then those not parsed yet */
    size_t parsed_bytes;
    struct sink sink; /* of the request that is being answered */
    enum wait waiting;
    uint32_t handles_open;
    size_t unsent_bytes;  /* when the wait for the peer to take them began */
    size_t dropped_bytes; /* read after the last request */
    bool advancing;       /* connection_advance is on the stack */
    bool yielding;        /* more can be parsed, in the next turn of the loop */
    bool answering;       /* a request waits for its answer, or for the rest of it */
    bool streaming;       /* the answer has begun and comes in pieces */
    bool chunked;         /* these are chunks */
    bool reading;
    bool ended;   /* the client has sent its last byte */
    bool last;    /* close after the answer under way */
    bool linger;  /* the last answer is out; bytes are read only to be dropped */
    bool closing; /* the handles are being closed */
};

/* connection.c: parses and answers what has come, as far as the client takes answers. */
void connection_advance(struct connection *connection);

/* Answers what could not be read as a request, and closes. */
void connection_refuse(struct connection *connection, const struct fault *fault);

/* Closes at once; a request under way learns that its client is gone. */
void connection_close(struct connection *connection);

/* Sends, now or as the peer takes it. May close the connection. */
void connection_send(struct connection *connection, struct span bytes);

bool connection_all_sent(const struct connection *connection);

/* The answer is out, or more of it: closes after the last one, in good order. */
void connection_after_write(struct connection *connection);

/* Starts the timer of what the connection waits for now, unless it runs already. */
void connection_watch(struct connection *connection);

#endif
