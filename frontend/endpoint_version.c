#include "frontend/endpoints.h"

#include "frontend/core/json_text.h"

#define VERSION_JSON_BYTES_MAX 256

void endpoint_version(struct server *server, struct http_request *request,
                      struct sink *sink)
{
    (void)server;
    (void)request;
    struct buffer json;
    buffer_init(&json, VERSION_JSON_BYTES_MAX);
    buffer_append_text(&json, "{\"version\":");
    json_text_string(&json, span_of(ROPEWAY_VERSION));
    buffer_append_text(&json, "}");
    sink_json(sink, buffer_span(&json));
    buffer_fini(&json);
}
