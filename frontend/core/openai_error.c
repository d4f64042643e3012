#include "frontend/core/openai_error.h"

#include "frontend/core/json_text.h"

void openai_error_write(struct buffer *out, const struct fault *fault)
{
    buffer_append_text(out, "{\"error\":{\"message\":");
    json_text_string(out, span_of(fault->sentence));
    buffer_append_text(out, ",\"type\":");
    json_text_string(out, span_of(status_openai_type(fault->status)));
    buffer_append_text(out, ",\"param\":");
    if (fault->param[0])
        json_text_string(out, span_of(fault->param));
    else
        buffer_append_text(out, "null");
    buffer_append_text(out, ",\"code\":");
    json_text_string(out, span_of(status_wire_name(fault->status)));
    buffer_append_text(out, "}}");
}
