#include "frontend/door.h"

#include "common/base/invariant.h"
#include "common/base/names.h"
#include "common/os/link.h"
#include "common/os/log.h"
#include "frontend/core/json_body.h"
#include "frontend/core/msgpack_json.h"
#include "frontend/core/openai_error.h"
#include "frontend/endpoints.h"
#include "frontend/job.h"
#include "frontend/router.h"
#include "frontend/server.h"
#include <stdlib.h>

#define BODY_BYTES_MAX (64u << 20) /* a message as JSON, which is longer */
#define ANSWER_BYTES_MAX                                                                 \
    (16u << 20) /* as JSON: the loop stands still while it is turned */
#define REPLY_BYTES_MAX (2 * ANSWER_BYTES_MAX) /* an integer takes 9 bytes here */

struct door_call {
    struct sink sink;
    struct door *door;
    uint32_t context;
    bool busy;
};

struct door {
    struct server *server;
    struct link_server *link;
    uv_async_t wake;
    struct door_call calls[DOOR_CONTEXTS];
};

/* --- answers --------------------------------------------------------------------- */

/* False when the answer is too large to be turned into msgpack. */
static bool encode(struct buffer *out, struct span json)
{
    json_t *value = json.size > ANSWER_BYTES_MAX
                        ? NULL
                        : json_loadb(json.data, json.size, JSON_ALLOW_NUL, NULL);
    if (value)
        msgpack_json_write(out, value);
    else
        log_warn("an answer of the door is too large bytes=%zu", json.size);
    bool encoded = value && !out->failed;
    json_decref(value);
    return encoded;
}

static void encode_refusal(struct buffer *out)
{
    struct fault fault;
    struct buffer json;
    fault_set(&fault, STATUS_TOO_LARGE, NULL,
              "The answer is too large for this door; ask for less, or over HTTP.");
    buffer_init(&json, OPENAI_ERROR_BYTES_MAX);
    openai_error_write(&json, &fault);
    encode(out, buffer_span(&json));
    buffer_fini(&json);
}

static void reply_json(struct door_call *call, struct span json)
{
    struct buffer out;
    buffer_init(&out, REPLY_BYTES_MAX);
    if (!encode(&out, json)) {
        buffer_fini(&out);
        buffer_init(&out, REPLY_BYTES_MAX);
        encode_refusal(&out);
    }
    call->busy = false;
    if (call->door->link)
        link_server_reply(call->door->link, call->context, buffer_span(&out));
    buffer_fini(&out);
}

static void door_answer(struct sink *sink, const struct answer *answer)
{
    reply_json((struct door_call *)sink, answer->body);
}

/* Jobs of the door never stream (job_input.never_streams). */
static void door_begin(struct sink *sink, const char *request_id)
{
    (void)sink;
    (void)request_id;
    INVARIANT(!"a stream at the door");
}

static void door_piece(struct sink *sink, struct span piece)
{
    (void)piece;
    door_begin(sink, NULL);
}

static void door_end(struct sink *sink)
{
    door_begin(sink, NULL);
}

static const struct sink_calls door_sink = {door_answer, door_begin, door_piece,
                                            door_end};

/* --- requests -------------------------------------------------------------------- */

static void generate(struct server *server, json_t *root, struct sink *sink,
                     enum answer_kind kind)
{
    struct buffer body;
    struct job_input input = {.kind = kind, .body = &body, .never_streams = true};
    char *text = json_dumps(root, JSON_COMPACT);
    buffer_init(&body, BODY_BYTES_MAX);
    if (text)
        buffer_append_text(&body, text);
    free(text);
    job_start(server, &input, sink);
    buffer_fini(&body);
}

static void on_chat(struct server *server, json_t *root, struct sink *sink)
{
    generate(server, root, sink, ANSWER_CHAT);
}

static void on_completion(struct server *server, json_t *root, struct sink *sink)
{
    generate(server, root, sink, ANSWER_COMPLETION);
}

static void on_models(struct server *server, json_t *root, struct sink *sink)
{
    (void)root;
    endpoint_models(server, NULL, sink);
}

static void on_status(struct server *server, json_t *root, struct sink *sink)
{
    (void)root;
    endpoint_status(server, sink);
}

struct door_op {
    const char *name;
    void (*run)(struct server *server, json_t *root, struct sink *sink);
};

static const struct door_op ops[] = {
    {"chat", on_chat},
    {"completion", on_completion},
    {"models", on_models},
    {"status", on_status},
};

#define OPS_COUNT      (sizeof ops / sizeof ops[0])
#define OP_NAMES_BYTES 128

static const char *op_name_at(size_t index)
{
    return index < OPS_COUNT ? ops[index].name : NULL;
}

static const struct door_op *find_op(const json_t *root)
{
    const char *name = json_string_value(json_object_get(root, "op"));
    for (size_t row = 0; name && row < OPS_COUNT; row++)
        if (strcmp(name, ops[row].name) == 0)
            return &ops[row];
    return NULL;
}

static void refuse_op(struct sink *sink)
{
    struct fault fault;
    char names[OP_NAMES_BYTES];
    fault_set(&fault, STATUS_INVALID, "op", "op must be one of: %s.",
              names_join(op_name_at, names, sizeof names));
    sink_fault(sink, &fault, 0);
}

static void refuse_key(struct sink *sink)
{
    struct fault fault;
    fault_set(&fault, STATUS_UNAUTHORIZED, "api_key", "api_key is missing or wrong.");
    sink_fault(sink, &fault, 0);
}

static void run_op(struct server *server, json_t *root, struct sink *sink)
{
    const struct door_op *op = find_op(root);
    if (!op)
        refuse_op(sink);
    else if (!router_key_is_right(server,
                                  json_body_text(json_object_get(root, "api_key"))))
        refuse_key(sink);
    else {
        /* Neither is a field of the request itself. */
        json_object_del(root, "op");
        json_object_del(root, "api_key");
        op->run(server, root, sink);
    }
}

static void take_request(struct door *door, const struct link_request *request)
{
    struct fault fault;
    json_t *root;
    INVARIANT(request->context < DOOR_CONTEXTS);
    struct door_call *call = &door->calls[request->context];
    INVARIANT(!call->busy);
    *call = (struct door_call){.sink = {.calls = &door_sink},
                               .door = door,
                               .context = request->context,
                               .busy = true};
    if (msgpack_json_read(request->bytes, &root, &fault) != STATUS_OK) {
        sink_fault(&call->sink, &fault, 0);
        return;
    }
    run_op(door->server, root, &call->sink);
    json_decref(root);
}

/* So many a turn of the loop that connections need not wait long. */
static void on_wake(uv_async_t *async)
{
    struct door *door = async->data;
    struct link_request request;
    for (uint32_t count = 0; count < DOOR_CONTEXTS; count++) {
        if (!door->link || !link_server_next(door->link, &request))
            return;
        take_request(door, &request);
    }
    uv_async_send(async);
}

static void wake(void *data)
{
    struct door *door = data;
    uv_async_send(&door->wake);
}

/* --- life ------------------------------------------------------------------------ */

static enum status listen_on_all(struct door *door, struct fault *fault)
{
    char url[CONFIG_TEXT_BYTES];
    const struct config *config = door->server->config;
    config_url(config, CONFIG_FRONTEND_DOOR, url, sizeof url);
    enum status status = link_server_open(&door->link, url, DOOR_CONTEXTS,
                                          config->max_body_bytes, wake, door, fault);
    if (status == STATUS_OK && config->nng_listen[0])
        status = link_server_listen(door->link, config->nng_listen, fault);
    return status;
}

enum status door_open(struct door **out, struct server *server, struct fault *fault)
{
    struct door *door = calloc(1, sizeof *door);
    if (!door)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "There is no memory to start.");
    door->server = server;
    door->wake.data = door;
    int error = uv_async_init(server->loop, &door->wake, on_wake);
    if (error) {
        free(door);
        return server_no_wake(error, fault);
    }
    *out = door;
    return listen_on_all(door, fault);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

/* Calls without an answer: their jobs are told that nobody waits. */
static void leave_calls(struct door *door)
{
    for (uint32_t context = 0; context < DOOR_CONTEXTS; context++) {
        struct door_call *call = &door->calls[context];
        if (call->busy && call->sink.on_leave)
            call->sink.on_leave(call->sink.leave_data);
        call->busy = false;
    }
}

void door_close(struct door *door)
{
    leave_calls(door);
    if (door->link)
        link_server_close(door->link);
    door->link = NULL;
    uv_close((uv_handle_t *)&door->wake, on_closed);
}
