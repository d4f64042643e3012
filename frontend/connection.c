#include "frontend/connection.h"

#include "common/os/log.h"
#include "frontend/connection_internal.h"
#include "frontend/core/http_response.h"
#include "frontend/router.h"
#include "frontend/server.h"
#include <stdlib.h>

#define UNSENT_BYTES_MAX  (1u << 20)  /* of a stream whose client does not read */
#define DROPPED_BYTES_MAX (16u << 20) /* the rest of a body that was refused, mostly */
#define TURN_REQUESTS_MAX 64 /* of one client's pipeline; then the others are served */

/* --- the sink of the request under way ------------------------------------------- */

static struct connection *connection_of(struct sink *sink)
{
    return (struct connection *)((char *)sink - offsetof(struct connection, sink));
}

static struct span unparsed(const struct connection *connection)
{
    size_t parsed = connection->parsed_bytes;
    return (struct span){connection->input.data + parsed,
                         connection->input.size - parsed};
}

/* Moves what is left only when it is the smaller part, so that a long pipeline is not
 * moved once a request. */
static void note_parsed(struct connection *connection, size_t size)
{
    connection->parsed_bytes += size;
    if (connection->parsed_bytes < connection->input.size / 2)
        return;
    buffer_consume(&connection->input, connection->parsed_bytes);
    connection->parsed_bytes = 0;
}

/* The client has sent its last byte, and no request is left of what it sent. */
static bool is_at_end(const struct connection *connection)
{
    return connection->ended && unparsed(connection).size == 0;
}

static void answered(struct connection *connection)
{
    connection->answering = false;
    connection->streaming = false;
    if (connection->closing)
        return;
    if (is_at_end(connection) || connection->server->draining)
        connection->last = true;
    if (connection->last) {
        connection_after_write(connection);
        return;
    }
    http_reader_next(&connection->reader);
    connection_advance(connection);
}

static struct http_response response_for(struct connection *connection, int code)
{
    const struct http_request *request = &connection->reader.request;
    if (connection->server->draining || is_at_end(connection))
        connection->last = true;
    return (struct http_response){.code = code,
                                  .keep_alive = !connection->last,
                                  .head_only = request->method == HTTP_METHOD_HEAD};
}

static void sink_answer(struct sink *sink, const struct answer *answer)
{
    struct connection *connection = connection_of(sink);
    sink->on_leave = NULL; /* the handler is done with it */
    struct http_response response = response_for(connection, answer->code);
    response.content_type = answer->content_type;
    response.request_id = answer->request_id;
    response.allow = answer->allow;
    response.retry_after_s = answer->retry_after_s;
    struct buffer out;
    buffer_init(&out, SERVER_ANSWER_BYTES_MAX);
    http_response_write(&out, &response, answer->body);
    if (out.failed)
        connection_close(connection);
    else
        connection_send(connection, buffer_span(&out));
    buffer_fini(&out);
    answered(connection);
}

static void sink_begin(struct sink *sink, const char *request_id)
{
    struct connection *connection = connection_of(sink);
    connection->streaming = true;
    connection->chunked = connection->reader.request.chunked_allowed;
    connection->last |= !connection->chunked;
    struct http_response response = response_for(connection, 200);
    response.content_type = "text/event-stream; charset=utf-8";
    response.request_id = request_id;
    struct buffer out;
    buffer_init(&out, SERVER_READ_BYTES);
    http_response_begin(&out, &response, connection->chunked);
    connection_send(connection, buffer_span(&out));
    buffer_fini(&out);
    connection_watch(connection);
}

/* The client does not read as fast as it is answered. */
static bool is_backed_up(const struct connection *connection)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&connection->tcp) >
           UNSENT_BYTES_MAX;
}

static void sink_piece(struct sink *sink, struct span piece)
{
    struct connection *connection = connection_of(sink);
    struct buffer out;
    buffer_init(&out, SERVER_ANSWER_BYTES_MAX);
    http_response_chunk(&out, piece, connection->chunked);
    if (out.failed) /* half a chunk would be taken for another's beginning */
        connection_close(connection);
    else
        connection_send(connection, buffer_span(&out));
    buffer_fini(&out);
    if (is_backed_up(connection)) {
        log_warn("connection closed: its client does not read unsent_bytes_max=%u",
                 UNSENT_BYTES_MAX);
        connection_close(connection);
    }
    connection_watch(connection);
}

static void sink_end(struct sink *sink)
{
    struct connection *connection = connection_of(sink);
    sink->on_leave = NULL;
    struct buffer out;
    buffer_init(&out, SERVER_READ_BYTES);
    http_response_end(&out, connection->chunked);
    connection_send(connection, buffer_span(&out));
    buffer_fini(&out);
    answered(connection);
}

static const struct sink_calls http_sink = {sink_answer, sink_begin, sink_piece,
                                            sink_end};

/* --- reading --------------------------------------------------------------------- */

void connection_refuse(struct connection *connection, const struct fault *fault)
{
    connection->answering = true;
    connection->last = true;
    connection->sink = (struct sink){.calls = &http_sink};
    sink_fault(&connection->sink, fault, 0);
}

static void begin_answer(struct connection *connection)
{
    struct http_request *request = &connection->reader.request;
    connection->answering = true;
    connection->last |= !request->keep_alive;
    connection->sink = (struct sink){.calls = &http_sink};
    router_route(connection->server, request, &connection->sink);
}

static void take_event(struct connection *connection, enum http_event event)
{
    switch (event) {
    case HTTP_EVENT_MORE:
        break;
    case HTTP_EVENT_CONTINUE:
        connection_send(connection, SPAN_LITERAL("HTTP/1.1 100 Continue\r\n\r\n"));
        break;
    case HTTP_EVENT_REQUEST:
        begin_answer(connection);
        break;
    case HTTP_EVENT_FAULT:
        connection_refuse(connection, &connection->reader.fault);
        break;
    }
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);
static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer);

/* Reads again once there is room for the largest request. */
static void resume_reading(struct connection *connection)
{
    if (connection->reading || connection->ended || connection->closing ||
        connection->input.size + SERVER_READ_BYTES > connection->input.bound)
        return;
    connection->reading =
        uv_read_start((uv_stream_t *)&connection->tcp, on_allocate, on_read) == 0;
    if (!connection->reading)
        connection_close(connection);
}

/* The client has sent its last byte, and its last answer is given. */
static void finish(struct connection *connection)
{
    if (connection_all_sent(connection))
        connection_close(connection);
    else
        connection->last = true; /* on_written closes */
}

static bool may_parse(const struct connection *connection)
{
    return !connection->answering && !connection->last && !connection->closing &&
           !is_backed_up(connection);
}

static bool is_parsable(const struct connection *connection)
{
    return may_parse(connection) && unparsed(connection).size > 0;
}

/* Parses what has come, as far as the connection is free to answer and its turn lasts. */
void connection_advance(struct connection *connection)
{
    if (connection->advancing)
        return; /* An answer given at once: the loop below goes on. */
    connection->advancing = true;
    for (uint32_t turn = 0; turn < TURN_REQUESTS_MAX && is_parsable(connection); turn++) {
        size_t used = 0;
        enum http_event event =
            http_reader_feed(&connection->reader, unparsed(connection), &used);
        note_parsed(connection, used);
        take_event(connection, event);
    }
    connection->advancing = false;
    connection->yielding = is_parsable(connection);
    if (connection->ended && may_parse(connection) && !connection->yielding)
        finish(connection);
    if (connection->closing)
        return;
    resume_reading(connection);
    connection_watch(connection);
}

static void on_allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct connection *connection = handle->data;
    *buffer = uv_buf_init(connection->server->read_buffer, SERVER_READ_BYTES);
}

/* Bytes that say nothing, but that a closed peer answers with a reset. */
static void probe(struct connection *connection)
{
    struct buffer out;
    if (!connection->streaming) {
        connection_send(connection, SPAN_LITERAL("HTTP/1.1 100 Continue\r\n\r\n"));
        return;
    }
    buffer_init(&out, SERVER_READ_BYTES);
    http_response_chunk(&out, SPAN_LITERAL(": still there?\n\n"), connection->chunked);
    connection_send(connection, buffer_span(&out));
    buffer_fini(&out);
}

/* The client has sent its last byte. */
static void on_end(struct connection *connection)
{
    connection->ended = true;
    connection->reading = false;
    uv_read_stop((uv_stream_t *)&connection->tcp);
    bool may_probe = connection->reader.request.chunked_allowed;
    bool may_answer = connection->sink.answers_after_eof || may_probe;
    if (connection->linger || (connection->answering && !may_answer))
        connection_close(connection);
    else if (may_parse(connection) && !connection->yielding)
        finish(connection);
    else if (connection->answering && !connection->sink.answers_after_eof)
        probe(connection);
    connection_watch(connection);
}

/* Whatever comes after the last request is read over, so that its sender gets to reading
 * our answer; but not for ever. */
static void drop_input(struct connection *connection, size_t size)
{
    connection->dropped_bytes += size;
    if (connection->dropped_bytes > DROPPED_BYTES_MAX)
        connection_close(connection);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct connection *connection = stream->data;
    if (size == 0)
        return;
    if (size == UV_EOF) {
        on_end(connection);
        return;
    }
    if (size < 0) {
        connection_close(connection);
        return;
    }
    if (connection->linger || connection->last) {
        drop_input(connection, (size_t)size);
        return;
    }
    buffer_append(&connection->input, buffer->base, (size_t)size);
    if (connection->input.failed) {
        connection_close(connection);
        return;
    }
    if (connection->input.size + SERVER_READ_BYTES > connection->input.bound) {
        uv_read_stop(stream);
        connection->reading = false;
    }
    connection_advance(connection);
}

/* --- life ------------------------------------------------------------------------ */

static void link_connection(struct server *server, struct connection *connection)
{
    connection->next = server->connections;
    if (connection->next)
        connection->next->previous = connection;
    server->connections = connection;
    server->connections_count++;
}

void connection_accept(struct server *server, uv_stream_t *listener)
{
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        log_error("no memory for a connection");
        return; /* libuv asks again when the next client comes */
    }
    connection->server = server;
    size_t body_bytes_max = server->config->max_body_bytes;
    http_reader_init(&connection->reader, body_bytes_max);
    buffer_init(&connection->input, body_bytes_max + HTTP_HEADER_BYTES_MAX +
                                        HTTP_URL_BYTES_MAX + 2 * SERVER_READ_BYTES);
    connection->tcp.data = connection;
    connection->timer.data = connection;
    connection->handles_open = 2;
    uv_tcp_init(server->loop, &connection->tcp);
    uv_timer_init(server->loop, &connection->timer);
    link_connection(server, connection);
    if (uv_accept(listener, (uv_stream_t *)&connection->tcp) != 0) {
        connection_close(connection);
        return;
    }
    uv_tcp_nodelay(&connection->tcp, 1); /* a token is small and must not wait */
    resume_reading(connection);
    if (server->connections_count > server->config->max_connections) {
        struct fault fault;
        fault_set(&fault, STATUS_UNAVAILABLE, NULL,
                  "The server has its most connections (%u) open.",
                  server->config->max_connections);
        connection_refuse(connection, &fault);
    } else {
        connection_watch(connection);
    }
}

void connections_drain(struct server *server)
{
    for (struct connection *connection = server->connections, *next; connection;
         connection = next) {
        next = connection->next;
        if (!connection->answering && connection_all_sent(connection))
            connection_close(connection);
    }
}

void connections_close(struct server *server)
{
    while (server->connections)
        connection_close(server->connections);
}
