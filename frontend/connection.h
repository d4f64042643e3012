/* connection.h - one HTTP connection: reads requests, answers them in order, one at a
 * time.
 *
 * Thread:     the loop's.
 * Order:      a request is parsed only after the one before it was answered, so that
 *             answers keep the order of a pipeline by themselves. Bytes that come
 *             meanwhile are kept, up to the largest request, since reading on is how a
 *             client's leaving is seen; beyond that the connection is not read, and is
 *             asked once a second whether its peer is gone.
 * Leaving:    a client may end its half and still read (netcat does), and TCP does not
 *             tell that from a close before bytes are sent. So the end of the client's
 *             bytes while a generation runs is answered by a probe, "100 Continue", which
 *             clients read over, or a comment in a stream: a closed peer resets the
 *             connection, which is looked for a few times a second, and the generation is
 *             cancelled. HTTP/1.0 has no interim answers; there the end of the bytes is
 *             the leaving.
 * Deadlines:  total ones, never extended by a trickle of bytes: from a request's first
 *             byte to the end of its headers, of its body, and between requests. A client
 *             that does not take its answer is left after a time, or once too much is
 *             unsent.
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
