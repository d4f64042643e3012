/* Any bytes as the body of either endpoint, as JSON and as msgpack: read within bounds,
 * or refused with a reason that is UTF-8 and quotes nothing. */
#include "common/base/invariant.h"
#include "common/text/utf8.h"
#include "frontend/core/chat.h"
#include "frontend/core/client_blob.h"
#include "frontend/core/json_body.h"
#include "frontend/core/msgpack_json.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct request_limits limits = {.model_name = "m", .vocabulary_count = 1000};

static void check_fault(const struct fault *fault)
{
    INVARIANT(fault->status != STATUS_OK && fault->sentence[0] != '\0');
    INVARIANT(utf8_valid(span_of(fault->sentence)) && utf8_valid(span_of(fault->param)));
}

static void check_request(const struct generation_request *request)
{
    const struct sampling *sampling = &request->sampling;
    INVARIANT(sampling->temperature >= 0 && sampling->temperature <= 2);
    INVARIANT(sampling->top_p > 0 && sampling->top_p <= 1);
    INVARIANT(sampling->repetition_penalty > 0);
    INVARIANT(sampling->top_logprobs <= TOP_LOGPROBS_MAX);
    INVARIANT(request->choices_per_prompt >= 1);
    INVARIANT(request->prompts_count * request->choices_per_prompt <= CHOICES_MAX);
    for (uint32_t index = 0; index < request->stops_count; index++)
        INVARIANT(request->stops[index].size > 0 &&
                  request->stops[index].size <= STOP_STRING_BYTES_MAX);
    for (uint32_t index = 0; index < request->biases_count; index++)
        INVARIANT(request->biases[index].token < limits.vocabulary_count);
}

static void read_request(enum answer_kind kind, json_t *root)
{
    struct generation_request request;
    struct fault fault = {0};
    if (generation_request_read(&request, kind, root, &limits, &fault) != STATUS_OK) {
        check_fault(&fault);
    } else {
        check_request(&request);
        if (kind == ANSWER_CHAT) {
            char *context =
                chat_context(&request, SPAN_LITERAL("<s>"), SPAN_LITERAL("</s>"));
            INVARIANT(context != NULL);
            free(context);
        }
    }
    generation_request_fini(&request);
}

static void read_both(json_t *root)
{
    read_request(ANSWER_COMPLETION, json_incref(root));
    read_request(ANSWER_CHAT, root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span bytes = {(const char *)data, size};
    struct fault fault = {0};
    struct answer_format format;
    json_t *root;
    if (json_body_parse(bytes, &root, &fault) == STATUS_OK)
        read_both(root);
    else
        check_fault(&fault);
    if (msgpack_json_read(bytes, &root, &fault) == STATUS_OK)
        read_both(root);
    else
        check_fault(&fault);
    if (client_blob_decode(bytes, &format, &fault) != STATUS_OK)
        check_fault(&fault);
    return 0;
}
