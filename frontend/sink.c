#include "frontend/sink.h"

#include "frontend/core/openai_error.h"

void sink_json(struct sink *sink, struct span json)
{
    struct answer answer = {
        .code = 200, .content_type = "application/json", .body = json};
    sink->calls->answer(sink, &answer);
}

void sink_fault(struct sink *sink, const struct fault *fault, uint32_t retry_after_s)
{
    struct buffer json;
    buffer_init(&json, OPENAI_ERROR_BYTES_MAX);
    openai_error_write(&json, fault);
    struct answer answer = {.code = status_http_code(fault->status),
                            .content_type = "application/json",
                            .retry_after_s = retry_after_s,
                            .body = buffer_span(&json)};
    sink->calls->answer(sink, &answer);
    buffer_fini(&json);
}
