/* connection.h - one HTTP connection: reads requests, answers them in order, one at a
 * time.
 *
 * Thread:  the loop's.
 * Order:   a request is parsed only after the one before it was answered, so that answers
 *          keep the order of a pipeline by themselves. Bytes that come meanwhile are
 * kept, up to the largest request, since reading on is how a client's leaving is seen;
 *          beyond that the connection is not read, and is asked once a second whether its
 *          peer is gone.
 * Leaving: the end of the client's bytes while a generation runs is its leaving (as with
 *          most servers: TCP does not tell a closed peer from a half-closed one before
 *          bytes are written). Other answers are given all the same.
 * Deadlines: total ones, never extended by a trickle of bytes: from a request's first
 * byte to the end of its headers, of its body, and between requests. A client that does
 * not take its answer is left after a time, or once too much is unsent.
 */
#ifndef ROPEWAY_FRONTEND_CONNECTION_H
#define ROPEWAY_FRONTEND_CONNECTION_H

#include <uv.h>

struct server;

/* Takes the next connection of listener, or refuses it when the server has its most. */
void connection_accept(struct server *server, uv_stream_t *listener);

/* Closes idle connections; the others close when they have answered. */
void connections_drain(struct server *server);

/* Closes every connection at once. */
void connections_close(struct server *server);

#endif
