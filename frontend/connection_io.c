/* connection_io.c - a connection's bytes out, its deadlines and its end. */
#include "frontend/connection_internal.h"

#include "frontend/server.h"
#include <poll.h>
#include <stdlib.h>

/* Deadlines in milliseconds. */
#define HEADERS_MS    10000
#define BODY_MS       60000
#define IDLE_MS       75000
#define WRITE_MS      30000
#define LINGER_MS     2000 /* for the peer to read the last answer after an error */
#define PEER_CHECK_MS 50   /* well within a second, and cheap for the few that need it */

static const uint64_t wait_ms[WAITS] = {
    [WAIT_TURN] = 0,
    [WAIT_IDLE] = IDLE_MS,
    [WAIT_HEADERS] = HEADERS_MS,
    [WAIT_BODY] = BODY_MS,
    [WAIT_WRITE] = WRITE_MS,
    [WAIT_LINGER] = LINGER_MS,
    [WAIT_PEER] = PEER_CHECK_MS,
};

struct write {
    uv_write_t request;
    char bytes[];
};

/* --- closing --------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    if (--connection->handles_open > 0)
        return;
    http_reader_fini(&connection->reader);
    buffer_fini(&connection->input);
    free(connection);
}

static void unlink_connection(struct connection *connection)
{
    struct server *server = connection->server;
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        server->connections = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    server->connections_count--;
}

/* Tells the request's handler, if there is one, that its client is gone. */
static void leave(struct connection *connection)
{
    void (*on_leave)(void *data) = connection->sink.on_leave;
    bool was_answering = connection->answering;
    connection->answering = false;
    connection->sink.on_leave = NULL;
    if (was_answering && on_leave)
        on_leave(connection->sink.leave_data);
}

void connection_close(struct connection *connection)
{
    if (connection->closing)
        return;
    connection->closing = true;
    unlink_connection(connection);
    leave(connection);
    uv_close((uv_handle_t *)&connection->tcp, on_handle_closed);
    uv_close((uv_handle_t *)&connection->timer, on_handle_closed);
}

static void on_shutdown(uv_shutdown_t *request, int error)
{
    struct connection *connection = request->data;
    free(request);
    if (error && error != UV_ECANCELED)
        connection_close(connection);
}

/* Ends our half and reads on for a while: closing with unread bytes would reset the
 * connection, and the peer might never see why. */
static void begin_linger(struct connection *connection)
{
    uv_shutdown_t *request = malloc(sizeof *request);
    if (!request || connection->ended) {
        free(request);
        connection_close(connection);
        return;
    }
    connection->linger = true;
    request->data = connection;
    if (uv_shutdown(request, (uv_stream_t *)&connection->tcp, on_shutdown) != 0) {
        free(request);
        connection_close(connection);
        return;
    }
    connection_watch(connection);
}

/* --- deadlines ------------------------------------------------------------------- */

static size_t unsent_bytes(const struct connection *connection)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&connection->tcp);
}

static enum wait waits_for(const struct connection *connection)
{
    static const enum wait of_phase[] = {
        [HTTP_PHASE_IDLE] = WAIT_IDLE,
        [HTTP_PHASE_HEADERS] = WAIT_HEADERS,
        [HTTP_PHASE_BODY] = WAIT_BODY,
        [HTTP_PHASE_WHOLE] = WAIT_NOTHING,
    };
    if (connection->linger)
        return WAIT_LINGER;
    if (connection->yielding)
        return WAIT_TURN;
    if (unsent_bytes(connection) > 0)
        return WAIT_WRITE;
    if (connection->answering)
        return connection->reading ? WAIT_NOTHING : WAIT_PEER;
    return of_phase[connection->reader.phase];
}

/* True when the peer has reset the connection, or has closed it while we do not read. */
static bool peer_is_gone(const struct connection *connection)
{
    uv_os_fd_t fd;
    if (uv_fileno((const uv_handle_t *)&connection->tcp, &fd) != 0)
        return true;
    struct pollfd ask = {.fd = fd, .events = connection->ended ? 0 : POLLRDHUP};
    return poll(&ask, 1, 0) > 0;
}

/* A large answer may take its reader long; only one that takes nothing is given up. */
static bool took_some(const struct connection *connection)
{
    return unsent_bytes(connection) < connection->unsent_bytes;
}

static void on_deadline(uv_timer_t *timer)
{
    struct connection *connection = timer->data;
    enum wait waited = connection->waiting;
    struct fault fault;
    connection->waiting = WAIT_NOTHING;
    if (waited == WAIT_PEER ? !peer_is_gone(connection)
                            : waited == WAIT_WRITE && took_some(connection)) {
        connection_watch(connection);
    } else if (waited == WAIT_TURN) {
        connection_advance(connection);
    } else if (waited == WAIT_HEADERS || waited == WAIT_BODY) {
        fault_set(&fault, STATUS_TIMEOUT, NULL, "The request did not arrive in time.");
        connection_refuse(connection, &fault);
    } else {
        connection_close(connection);
    }
}

/* Starts the timer of what the connection waits for now, unless it runs already. */
void connection_watch(struct connection *connection)
{
    enum wait wanted = waits_for(connection);
    if (connection->closing || wanted == connection->waiting)
        return;
    connection->waiting = wanted;
    connection->unsent_bytes = unsent_bytes(connection);
    if (wanted == WAIT_NOTHING)
        uv_timer_stop(&connection->timer);
    else
        uv_timer_start(&connection->timer, on_deadline, wait_ms[wanted], 0);
}

/* --- writing --------------------------------------------------------------------- */

bool connection_all_sent(const struct connection *connection)
{
    return unsent_bytes(connection) == 0;
}

void connection_after_write(struct connection *connection)
{
    if (connection->last && !connection->answering && !connection->linger &&
        connection_all_sent(connection))
        begin_linger(connection);
    else
        connection_watch(connection);
}

static void on_written(uv_write_t *request, int error)
{
    struct connection *connection = request->data;
    free(request);
    if (connection->closing)
        return;
    if (error) {
        connection_close(connection);
        return;
    }
    /* It took something: the clock starts anew. */
    connection->waiting = WAIT_NOTHING;
    uv_timer_stop(&connection->timer);
    connection_after_write(connection);
    connection_advance(connection); /* it may have waited for room */
}

static void queue_write(struct connection *connection, struct span bytes)
{
    struct write *write = malloc(sizeof *write + bytes.size);
    if (!write) {
        connection_close(connection);
        return;
    }
    memcpy(write->bytes, bytes.data, bytes.size);
    write->request.data = connection;
    uv_buf_t piece = uv_buf_init(write->bytes, (unsigned)bytes.size);
    if (uv_write(&write->request, (uv_stream_t *)&connection->tcp, &piece, 1,
                 on_written) != 0) {
        free(write);
        connection_close(connection);
    }
}

/* What the socket takes now costs no copy. */
void connection_send(struct connection *connection, struct span bytes)
{
    if (connection->closing || bytes.size == 0)
        return;
    if (connection_all_sent(connection)) {
        uv_buf_t piece = uv_buf_init((char *)bytes.data, (unsigned)bytes.size);
        int sent = uv_try_write((uv_stream_t *)&connection->tcp, &piece, 1);
        if (sent < 0 && sent != UV_EAGAIN) {
            connection_close(connection);
            return;
        }
        if (sent > 0)
            bytes = (struct span){bytes.data + sent, bytes.size - (size_t)sent};
    }
    if (bytes.size > 0)
        queue_write(connection, bytes);
}
