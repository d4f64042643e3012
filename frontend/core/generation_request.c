#include "frontend/core/generation_request.h"

#include "frontend/core/json_body.h"
#include "frontend/core/parameter_table.h"
#include <math.h>
#include <stdlib.h>

/* Below it the quotients of logits overflow; the limit of softmax is the greedy choice.
 */
#define GREEDY_TEMPERATURE 1e-5f

static enum status refuse_number(const struct parameter *row, struct fault *fault)
{
    bool whole = row->kind != PARAMETER_F32;
    return fault_set(fault, STATUS_INVALID, row->name,
                     "%s must be %s, %s %.10g and at most %.10g.", row->name,
                     whole ? "an integer" : "a number",
                     row->min_excluded ? "above" : "at least", row->min, row->max);
}

static bool in_bounds(const struct parameter *row, double value)
{
    bool low = row->min_excluded ? value > row->min : value >= row->min;
    return low && value <= row->max;
}

static enum status read_integer(const struct parameter *row, void *where,
                                const json_t *value, struct fault *fault)
{
    json_int_t number;
    if (!json_body_integer(value, &number) || !in_bounds(row, (double)number))
        return refuse_number(row, fault);
    if (row->kind == PARAMETER_U8)
        *(uint8_t *)where = (uint8_t)number;
    else if (row->kind == PARAMETER_U32)
        *(uint32_t *)where = (uint32_t)number;
    else if (row->kind == PARAMETER_I32)
        *(int32_t *)where = (int32_t)number;
    else
        *(int64_t *)where = number;
    return STATUS_OK;
}

static enum status read_number(const struct parameter *row, void *where,
                               const json_t *value, struct fault *fault)
{
    double number = json_number_value(value);
    if (!json_is_number(value) || !isfinite(number) || !in_bounds(row, number) ||
        (row->min_excluded && (float)number <= (float)row->min))
        return refuse_number(row, fault);
    *(float *)where = (float)number;
    return STATUS_OK;
}

static enum status read_flag(const struct parameter *row, void *where,
                             const json_t *value, struct fault *fault)
{
    if (!json_is_boolean(value))
        return fault_set(fault, STATUS_INVALID, row->name, "%s must be true or false.",
                         row->name);
    *(uint8_t *)where = json_is_true(value); /* a bool, or a byte of sampling */
    return STATUS_OK;
}

static enum status read_parameter(struct generation_request *request,
                                  const struct parameter *row, const json_t *value,
                                  const struct request_limits *limits,
                                  struct fault *fault)
{
    void *where = (char *)request + row->offset;
    switch (row->kind) {
    case PARAMETER_F32:
        return read_number(row, where, value, fault);
    case PARAMETER_BOOL:
        return read_flag(row, where, value, fault);
    case PARAMETER_SPECIAL:
        return row->read(request, row->name, value, limits, fault);
    case PARAMETER_UNSUPPORTED:
        if (json_is_false(value))
            return STATUS_OK;
        return fault_set(fault, STATUS_UNSUPPORTED, row->name,
                         "%s is not supported by this server.", row->name);
    default:
        return read_integer(row, where, value, fault);
    }
}

/* What no row can see alone. */
static enum status check_together(const struct generation_request *request,
                                  struct fault *fault)
{
    if (request->kind == ANSWER_COMPLETION && request->prompts_count == 0)
        return fault_set(fault, STATUS_INVALID, "prompt", "prompt is missing.");
    if (request->kind == ANSWER_CHAT && !request->messages)
        return fault_set(fault, STATUS_INVALID, "messages", "messages is missing.");
    if (request->has_stream_options && !request->stream)
        return fault_set(fault, STATUS_INVALID, "stream_options",
                         "stream_options is allowed only with stream: true.");
    if (request->sampling.top_logprobs > 0 && !request->sampling.logprobs)
        return fault_set(fault, STATUS_INVALID, "top_logprobs",
                         "top_logprobs is allowed only with logprobs: true.");
    if (request->best_of && request->best_of != request->choices_per_prompt)
        return fault_set(fault, STATUS_UNSUPPORTED, "best_of",
                         "best_of is supported only where it equals n.");
    if (request->echo && request->sampling.logprobs)
        return fault_set(fault, STATUS_UNSUPPORTED, "echo",
                         "echo together with logprobs is not supported yet.");
    if (request->max_tokens && request->sampling.min_tokens > request->max_tokens)
        return fault_set(fault, STATUS_INVALID, "min_tokens",
                         "min_tokens (%u) must not exceed max_tokens (%u).",
                         request->sampling.min_tokens, request->max_tokens);
    if (request->prompts_count > CHOICES_MAX / request->choices_per_prompt)
        return fault_set(fault, STATUS_INVALID, "n",
                         "n (%u) times the prompts (%u) must not exceed %d.",
                         request->choices_per_prompt, request->prompts_count,
                         CHOICES_MAX);
    return STATUS_OK;
}

static void set_defaults(struct generation_request *request)
{
    request->sampling =
        (struct sampling){.temperature = 1.0f, .top_p = 1.0f, .repetition_penalty = 1.0f};
    request->choices_per_prompt = 1;
    request->add_generation_prompt = true;
}

static void normalise(struct generation_request *request)
{
    if (request->sampling.top_k < 0)
        request->sampling.top_k = 0; /* both mean off, as in vLLM */
    if (request->sampling.temperature < GREEDY_TEMPERATURE)
        request->sampling.temperature = 0;
}

enum status generation_request_read(struct generation_request *request,
                                    enum answer_kind kind, json_t *root,
                                    const struct request_limits *limits,
                                    struct fault *fault)
{
    memset(request, 0, sizeof *request);
    request->kind = kind;
    request->root = root;
    set_defaults(request);
    for (size_t index = 0; index < parameter_table_count; index++) {
        const struct parameter *row = &parameter_table[index];
        const json_t *value = json_object_get(root, row->name);
        if (!(row->endpoints & kind) || !value || json_is_null(value))
            continue;
        enum status status = read_parameter(request, row, value, limits, fault);
        if (status != STATUS_OK)
            return status;
    }
    normalise(request);
    return check_together(request, fault);
}

void generation_request_fini(struct generation_request *request)
{
    for (uint32_t index = 0; index < request->prompts_count; index++)
        free(request->prompts[index].tokens);
    free(request->prompts);
    json_decref(request->root);
    request->prompts = NULL;
    request->prompts_count = 0;
    request->root = NULL;
}
