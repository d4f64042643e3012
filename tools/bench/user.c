#include "tools/bench/user.h"

#include "common/base/time_units.h"
#include "tools/bench/prompt.h"
#include <stdio.h>
#include <string.h>

static void connect_anew(struct user *user);

/* --- the end of a request ----------------------------------------------------------- */

static void on_socket_closed(uv_handle_t *socket)
{
    struct user *user = socket->data;
    user->state = SOCKET_NONE;
    if (user->asking && !user->leaving)
        connect_anew(user);
}

static void drop_connection(struct user *user)
{
    if (user->state == SOCKET_NONE || user->state == SOCKET_CLOSING)
        return;
    user->state = SOCKET_CLOSING;
    uv_close((uv_handle_t *)&user->socket, on_socket_closed);
}

static void end(struct user *user, enum failure failure)
{
    if (!user->asking)
        return;
    user->asking = false;
    uv_timer_stop(&user->timer);
    user->on_end(user, failure);
}

static void end_broken(struct user *user, enum failure failure, const char *detail)
{
    if (user->detail[0] == '\0')
        snprintf(user->detail, sizeof user->detail, "%s", detail);
    drop_connection(user);
    end(user, failure);
}

/* What a message that came whole, or was cut after its head, says. */
static enum failure verdict(struct user *user)
{
    if (user->http_status == 200)
        return answer_verdict(&user->answer);
    return failure_of_http(user->http_status);
}

/* --- HTTP --------------------------------------------------------------------------- */

static void on_event(void *context, struct span data)
{
    struct user *user = context;
    answer_event(&user->answer, data, user->read_ns, user->gaps);
    if (user->answer.failure != FAILURE_NONE && user->detail[0] == '\0')
        snprintf(user->detail, sizeof user->detail, "%.*s", (int)data.size, data.data);
}

static int on_headers_complete(llhttp_t *http)
{
    struct user *user = http->data;
    user->http_status = http->status_code;
    if (http->status_code != 200)
        snprintf(user->detail, sizeof user->detail, "HTTP %u", http->status_code);
    return 0;
}

static int on_body(llhttp_t *http, const char *at, size_t size)
{
    struct user *user = http->data;
    size_t used = strlen(user->detail);
    if (user->http_status == 200)
        return sse_reader_push(&user->events, (struct span){at, size}) ? 0 : HPE_USER;
    /* A refusal's reason, as far as it fits. */
    snprintf(user->detail + used, sizeof user->detail - used, " %.*s", (int)size, at);
    return 0;
}

static int on_message_complete(llhttp_t *http)
{
    struct user *user = http->data;
    user->message_complete = true;
    return HPE_PAUSED; /* nothing may follow before we ask again */
}

static const llhttp_settings_t *http_settings(void)
{
    static llhttp_settings_t settings;
    if (settings.on_body == NULL) {
        llhttp_settings_init(&settings);
        settings.on_headers_complete = on_headers_complete;
        settings.on_body = on_body;
        settings.on_message_complete = on_message_complete;
    }
    return &settings;
}

static void on_bytes(struct user *user, const char *bytes, size_t size)
{
    llhttp_errno_t error = llhttp_execute(&user->http, bytes, size);
    if (user->message_complete) {
        enum failure failure = verdict(user);
        if (!llhttp_should_keep_alive(&user->http) || user->writing)
            drop_connection(user);
        end(user, failure);
    } else if (error != HPE_OK) {
        end_broken(user, FAILURE_MALFORMED, llhttp_get_error_reason(&user->http));
    }
}

/* --- the socket --------------------------------------------------------------------- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char bytes[65536]; /* one loop, and bytes are used before the next read */
    (void)handle;
    (void)suggested;
    *buffer = uv_buf_init(bytes, sizeof bytes);
}

static void on_closed_by_peer(struct user *user, int error)
{
    if (!user->asking) {
        drop_connection(user);
        return;
    }
    /* Some bodies end with the connection. */
    if (error == UV_EOF && user->http_status != 0 && llhttp_finish(&user->http) == HPE_OK)
        end_broken(user, verdict(user), "");
    else if (user->http_status == 200)
        end_broken(user, FAILURE_CUT, uv_strerror(error));
    else
        end_broken(user, FAILURE_CONNECTION, uv_strerror(error));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct user *user = stream->data;
    user->read_ns = uv_hrtime();
    if (size < 0)
        on_closed_by_peer(user, (int)size);
    else if (size > 0 && !user->asking)
        drop_connection(user); /* bytes that nobody asked for */
    else if (size > 0)
        on_bytes(user, buffer->base, (size_t)size);
}

static void on_written(uv_write_t *write, int error)
{
    struct user *user = write->data;
    user->writing = false;
    /* A server may answer and close before it has read all: then the answer counts. */
    if (error != 0 && error != UV_ECANCELED && user->http_status == 0)
        end_broken(user, FAILURE_CONNECTION, uv_strerror(error));
}

static void send_request(struct user *user)
{
    uv_buf_t bytes = uv_buf_init(user->request.data, (unsigned)user->request.size);
    user->write.data = user;
    int error =
        uv_write(&user->write, (uv_stream_t *)&user->socket, &bytes, 1, on_written);
    if (error != 0)
        end_broken(user, FAILURE_CONNECTION, uv_strerror(error));
    else
        user->writing = true;
}

static void on_connected(uv_connect_t *connect, int error)
{
    struct user *user = connect->data;
    if (error == UV_ECANCELED)
        return;
    if (error != 0) {
        end_broken(user, FAILURE_CONNECTION, uv_strerror(error));
        return;
    }
    user->state = SOCKET_READY;
    uv_tcp_nodelay(&user->socket, 1);
    uv_read_start((uv_stream_t *)&user->socket, on_alloc, on_read);
    send_request(user);
}

static void connect_anew(struct user *user)
{
    uv_tcp_init(user->timer.loop, &user->socket);
    user->socket.data = user->connect.data = user;
    user->state = SOCKET_CONNECTING;
    int error =
        uv_tcp_connect(&user->connect, &user->socket, user->address, on_connected);
    if (error != 0)
        end_broken(user, FAILURE_CONNECTION, uv_strerror(error));
}

/* --- the user ----------------------------------------------------------------------- */

bool user_init(struct user *user, uv_loop_t *loop, const struct bench_options *options,
               const struct sockaddr *address, struct samples *gaps, user_on_end *on_end,
               void *context)
{
    memset(user, 0, sizeof *user);
    user->options = options;
    user->address = address;
    user->gaps = gaps;
    user->on_end = on_end;
    user->context = context;
    uv_timer_init(loop, &user->timer);
    user->timer.data = user;
    buffer_init(&user->request, prompt_request_bytes_max(options));
    sse_reader_init(&user->events, on_event, user);
    prompt_write_request(options, 0, &user->request);
    return !user->request.failed;
}

void user_fini(struct user *user)
{
    buffer_fini(&user->request);
    sse_reader_fini(&user->events);
}

static void on_timeout(uv_timer_t *timer)
{
    end_broken(timer->data, FAILURE_TIMEOUT, "");
}

void user_ask(struct user *user, uint32_t number)
{
    buffer_clear(&user->request);
    prompt_write_request(user->options, number, &user->request);
    llhttp_init(&user->http, HTTP_RESPONSE, http_settings());
    user->http.data = user;
    sse_reader_reset(&user->events);
    answer_begin(&user->answer, uv_hrtime());
    user->http_status = 0;
    user->message_complete = false;
    user->detail[0] = '\0';
    user->asking = true;
    uv_timer_start(&user->timer, on_timeout,
                   (uint64_t)user->options->timeout_s * MS_PER_S, 0);
    if (user->state == SOCKET_READY)
        send_request(user);
    else if (user->state == SOCKET_NONE)
        connect_anew(user);
}

void user_close(struct user *user)
{
    user->leaving = true;
    user->asking = false;
    drop_connection(user);
    if (!uv_is_closing((uv_handle_t *)&user->timer))
        uv_close((uv_handle_t *)&user->timer, NULL);
}
