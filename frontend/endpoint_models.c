#include "frontend/endpoints.h"

#include "frontend/core/json_text.h"
#include "frontend/server.h"
#include "frontend/uplink.h"

#define MODELS_JSON_BYTES_MAX 4096

void endpoint_models(struct server *server, struct http_request *request,
                     struct sink *sink)
{
    (void)request;
    struct buffer json;
    buffer_init(&json, MODELS_JSON_BYTES_MAX);
    buffer_append_text(&json, "{\"object\":\"list\",\"data\":[{\"id\":");
    json_text_string(&json, span_of(server->model_name));
    buffer_append_format(&json,
                         ",\"object\":\"model\",\"created\":%lld,"
                         "\"owned_by\":\"ropeway\",\"max_model_len\":%u}]}",
                         (long long)server->started_unix_s,
                         uplink_context_length(server->uplink));
    sink_json(sink, buffer_span(&json));
    buffer_fini(&json);
}
