/* endpoint_models.c - the one model: in the list, and by its name. */
#include "frontend/endpoints.h"

#include "frontend/core/json_text.h"
#include "frontend/server.h"
#include "frontend/uplink.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MODELS_JSON_BYTES_MAX 4096
#define MODELS_PATH           "/v1/models/"

static void write_model(struct buffer *json, const struct server *server)
{
    buffer_append_text(json, "{\"id\":");
    json_text_string(json, span_of(server->model_name));
    buffer_append_format(json,
                         ",\"object\":\"model\",\"created\":%lld,"
                         "\"owned_by\":\"ropeway\",\"max_model_len\":%u}",
                         (long long)server->started_unix_s,
                         uplink_context_length(server->uplink));
}

void endpoint_models(struct server *server, struct http_request *request,
                     struct sink *sink)
{
    (void)request;
    struct buffer json;
    buffer_init(&json, MODELS_JSON_BYTES_MAX);
    buffer_append_text(&json, "{\"object\":\"list\",\"data\":[");
    write_model(&json, server);
    buffer_append_text(&json, "]}");
    sink_json(sink, buffer_span(&json));
    buffer_fini(&json);
}

/* Whether text, with its %XX read as bytes (RFC 3986, 2.1), is name. */
static bool spells(struct span text, const char *name)
{
    for (size_t at = 0; at < text.size; at++, name++) {
        char byte = text.data[at];
        if (byte == '%' && text.size - at > 2 &&
            isxdigit((unsigned char)text.data[at + 1]) &&
            isxdigit((unsigned char)text.data[at + 2])) {
            const char digits[] = {text.data[at + 1], text.data[at + 2], '\0'};
            byte = (char)strtoul(digits, NULL, 16);
            at += 2;
        }
        if (*name == '\0' || byte != *name)
            return false;
    }
    return *name == '\0';
}

void endpoint_model(struct server *server, struct http_request *request,
                    struct sink *sink)
{
    struct buffer json;
    struct span name = http_request_path(request);
    name.data += strlen(MODELS_PATH);
    name.size -= strlen(MODELS_PATH);
    if (name.data[name.size - 1] == '/')
        name.size--;
    if (!spells(name, server->model_name)) {
        struct fault fault;
        fault_set(&fault, STATUS_MODEL_NOT_FOUND, "model",
                  "This server has no such model; it serves '%s'.", server->model_name);
        sink_fault(sink, &fault, 0);
        return;
    }
    buffer_init(&json, MODELS_JSON_BYTES_MAX);
    write_model(&json, server);
    sink_json(sink, buffer_span(&json));
    buffer_fini(&json);
}
