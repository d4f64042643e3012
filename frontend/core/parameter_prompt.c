/* parameter_prompt.c - a completion's prompt: a text, token ids, or several of either. */
#include "frontend/core/parameter_table.h"

#include "frontend/core/json_body.h"
#include <stdlib.h>

static enum status refuse(const char *name, struct fault *fault)
{
    return fault_set(
        fault, STATUS_INVALID, name,
        "prompt must be a string, an array of token ids, or an array of 1 to "
        "%d of either.",
        CHOICES_MAX);
}

static enum status read_tokens(struct prompt *prompt, const char *name,
                               const json_t *value, const struct request_limits *limits,
                               struct fault *fault)
{
    size_t count = json_array_size(value);
    if (count == 0)
        return fault_set(fault, STATUS_INVALID, name, "prompt must not be empty.");
    prompt->tokens = malloc(count * sizeof *prompt->tokens);
    if (!prompt->tokens)
        return fault_set(fault, STATUS_NO_SPACE, name, "There is no memory for prompt.");
    for (; prompt->tokens_count < count; prompt->tokens_count++) {
        enum status status =
            parameter_token(name, json_array_get(value, prompt->tokens_count), limits,
                            &prompt->tokens[prompt->tokens_count], fault);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* All elements must be of the first one's type: a mixed array is a mistake. */
static enum status read_several(struct generation_request *request, const char *name,
                                const json_t *value, const struct request_limits *limits,
                                struct fault *fault)
{
    bool strings = json_is_string(json_array_get(value, 0));
    for (size_t index = 0; index < json_array_size(value); index++) {
        const json_t *element = json_array_get(value, index);
        struct prompt *prompt = &request->prompts[index];
        if (strings ? !json_is_string(element) : !json_is_array(element))
            return refuse(name, fault);
        request->prompts_count++;
        enum status status = STATUS_OK;
        if (strings)
            prompt->text = json_body_text(element);
        else
            status = read_tokens(prompt, name, element, limits, fault);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status parameter_prompt(struct generation_request *request, const char *name,
                             const json_t *value, const struct request_limits *limits,
                             struct fault *fault)
{
    const json_t *first = json_array_get(value, 0);
    bool several = json_is_string(first) || json_is_array(first);
    size_t count = several ? json_array_size(value) : 1;
    if (!json_is_string(value) && (!json_is_array(value) || count > CHOICES_MAX))
        return refuse(name, fault);
    if (json_is_array(value) && !several && first && !json_is_number(first))
        return refuse(name, fault);
    request->prompts = calloc(count, sizeof *request->prompts);
    if (!request->prompts)
        return fault_set(fault, STATUS_NO_SPACE, name, "There is no memory for prompt.");
    if (several)
        return read_several(request, name, value, limits, fault);
    request->prompts_count = 1;
    if (json_is_string(value)) {
        request->prompts[0].text = json_body_text(value);
        return STATUS_OK;
    }
    return read_tokens(&request->prompts[0], name, value, limits, fault);
}
