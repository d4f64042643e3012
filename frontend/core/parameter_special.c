/* parameter_special.c - parameters that are more than one number. */
#include "frontend/core/parameter_table.h"

#include "frontend/core/json_body.h"
#include <math.h>
#include <stdlib.h>

#define UNUSED_LIMITS (void)limits

#define USER_BYTES_MAX      512   /* a name for logs */
#define TIMEOUT_MAX_S       86400 /* a day */
#define BIAS_MAX            100   /* OpenAI's bound, both ways */
#define LEGACY_LOGPROBS_MAX 5     /* OpenAI's bound for completions */
#define TOKEN_DIGITS_MAX    10    /* of 2^32 - 1 */

enum status parameter_token(const char *name, const json_t *value,
                            const struct request_limits *limits, uint32_t *token,
                            struct fault *fault)
{
    json_int_t number;
    if (!json_body_integer(value, &number) || number < 0 ||
        number >= limits->vocabulary_count)
        return fault_set(fault, STATUS_INVALID, name,
                         "%s must hold token ids from 0 to %u.", name,
                         limits->vocabulary_count - 1);
    *token = (uint32_t)number;
    return STATUS_OK;
}

enum status parameter_model(struct generation_request *request, const char *name,
                            const json_t *value, const struct request_limits *limits,
                            struct fault *fault)
{
    (void)request;
    if (!json_is_string(value))
        return fault_set(fault, STATUS_INVALID, name, "model must be a string.");
    if (!span_equal(json_body_text(value), span_of(limits->model_name)))
        return fault_set(fault, STATUS_MODEL_NOT_FOUND, name,
                         "This server has no such model; it serves '%s'.",
                         limits->model_name);
    return STATUS_OK;
}

enum status parameter_seed(struct generation_request *request, const char *name,
                           const json_t *value, const struct request_limits *limits,
                           struct fault *fault)
{
    UNUSED_LIMITS;
    json_int_t seed;
    if (!json_body_integer(value, &seed) || seed < 0)
        return fault_set(fault, STATUS_INVALID, name,
                         "seed must be an integer from 0 to 2^63 - 1.");
    request->sampling.seed = (uint64_t)seed;
    request->has_seed = true;
    return STATUS_OK;
}

static enum status add_stop(struct generation_request *request, const char *name,
                            const json_t *value, struct fault *fault)
{
    struct span text = json_body_text(value);
    if (!json_is_string(value) || text.size == 0 || text.size > STOP_STRING_BYTES_MAX)
        return fault_set(fault, STATUS_INVALID, name,
                         "stop must hold strings of 1 to %d bytes.",
                         STOP_STRING_BYTES_MAX);
    request->stops[request->stops_count++] = text;
    return STATUS_OK;
}

enum status parameter_stop(struct generation_request *request, const char *name,
                           const json_t *value, const struct request_limits *limits,
                           struct fault *fault)
{
    UNUSED_LIMITS;
    if (json_is_string(value))
        return add_stop(request, name, value, fault);
    if (!json_is_array(value) || json_array_size(value) > STOP_STRINGS_MAX)
        return fault_set(fault, STATUS_INVALID, name,
                         "stop must be a string or an array of at most %d.",
                         STOP_STRINGS_MAX);
    for (size_t index = 0; index < json_array_size(value); index++) {
        enum status status = add_stop(request, name, json_array_get(value, index), fault);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status parameter_stop_token_ids(struct generation_request *request, const char *name,
                                     const json_t *value,
                                     const struct request_limits *limits,
                                     struct fault *fault)
{
    /* Half of the record's room: the vocabulary's own end tokens need theirs. */
    if (!json_is_array(value) || json_array_size(value) > STOP_TOKENS_MAX / 2)
        return fault_set(fault, STATUS_INVALID, name,
                         "stop_token_ids must be an array of at most %d token ids.",
                         STOP_TOKENS_MAX / 2);
    for (size_t index = 0; index < json_array_size(value); index++) {
        enum status status =
            parameter_token(name, json_array_get(value, index), limits,
                            &request->stop_tokens[request->stop_tokens_count], fault);
        if (status != STATUS_OK)
            return status;
        request->stop_tokens_count++;
    }
    return STATUS_OK;
}

/* Digits only: " 7", "1.5" and "" name no token. */
static bool token_of_key(const char *key, const struct request_limits *limits,
                         uint32_t *token)
{
    size_t size = strlen(key);
    if (size == 0 || size > TOKEN_DIGITS_MAX || strspn(key, "0123456789") != size)
        return false;
    unsigned long long number = strtoull(key, NULL, 10);
    *token = (uint32_t)number;
    return number < limits->vocabulary_count;
}

static enum status add_bias(struct generation_request *request, const char *name,
                            const char *key, const json_t *value,
                            const struct request_limits *limits, struct fault *fault)
{
    struct logit_bias bias;
    double number = json_number_value(value);
    if (!token_of_key(key, limits, &bias.token))
        return fault_set(fault, STATUS_INVALID, name,
                         "logit_bias must have token ids from 0 to %u as its keys.",
                         limits->vocabulary_count - 1);
    for (uint32_t index = 0; index < request->biases_count; index++)
        if (request->biases[index].token == bias.token)
            return fault_set(fault, STATUS_INVALID, name,
                             "logit_bias names token %u twice.", bias.token);
    if (!json_is_number(value) || !(fabs(number) <= BIAS_MAX))
        return fault_set(fault, STATUS_INVALID, name,
                         "logit_bias must hold numbers from -%d to %d.", BIAS_MAX,
                         BIAS_MAX);
    bias.bias = (float)number;
    request->biases[request->biases_count++] = bias;
    return STATUS_OK;
}

enum status parameter_logit_bias(struct generation_request *request, const char *name,
                                 const json_t *value, const struct request_limits *limits,
                                 struct fault *fault)
{
    const char *key;
    json_t *bias;
    if (!json_is_object(value) || json_object_size(value) > LOGIT_BIAS_MAX)
        return fault_set(fault, STATUS_INVALID, name,
                         "logit_bias must be an object of at most %d token ids.",
                         LOGIT_BIAS_MAX);
    json_object_foreach ((json_t *)value, key, bias) {
        enum status status = add_bias(request, name, key, bias, limits, fault);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

enum status parameter_stream_options(struct generation_request *request, const char *name,
                                     const json_t *value,
                                     const struct request_limits *limits,
                                     struct fault *fault)
{
    UNUSED_LIMITS;
    const json_t *usage = json_object_get(value, "include_usage");
    if (!json_is_object(value) ||
        (usage && !json_is_boolean(usage) && !json_is_null(usage)))
        return fault_set(fault, STATUS_INVALID, name,
                         "stream_options must be an object; its include_usage must be "
                         "true or false.");
    request->has_stream_options = true;
    request->include_usage = json_is_true(usage);
    return STATUS_OK;
}

enum status parameter_chat_logprobs(struct generation_request *request, const char *name,
                                    const json_t *value,
                                    const struct request_limits *limits,
                                    struct fault *fault)
{
    UNUSED_LIMITS;
    if (!json_is_boolean(value))
        return fault_set(fault, STATUS_INVALID, name, "logprobs must be true or false.");
    request->sampling.logprobs = json_is_true(value);
    return STATUS_OK;
}

enum status parameter_legacy_logprobs(struct generation_request *request,
                                      const char *name, const json_t *value,
                                      const struct request_limits *limits,
                                      struct fault *fault)
{
    UNUSED_LIMITS;
    json_int_t count;
    if (!json_body_integer(value, &count) || count < 0 || count > LEGACY_LOGPROBS_MAX)
        return fault_set(fault, STATUS_INVALID, name,
                         "logprobs must be an integer from 0 to %d.",
                         LEGACY_LOGPROBS_MAX);
    request->sampling.logprobs = 1;
    request->sampling.top_logprobs = (uint8_t)count;
    return STATUS_OK;
}

enum status parameter_response_format(struct generation_request *request,
                                      const char *name, const json_t *value,
                                      const struct request_limits *limits,
                                      struct fault *fault)
{
    (void)request;
    UNUSED_LIMITS;
    const json_t *type = json_object_get(value, "type");
    if (!json_is_string(type))
        return fault_set(fault, STATUS_INVALID, name,
                         "response_format must be an object with a type.");
    if (strcmp(json_string_value(type), "text") != 0)
        return fault_set(fault, STATUS_UNSUPPORTED, name,
                         "Of response_format only the type 'text' is supported yet.");
    return STATUS_OK;
}

enum status parameter_timeout(struct generation_request *request, const char *name,
                              const json_t *value, const struct request_limits *limits,
                              struct fault *fault)
{
    UNUSED_LIMITS;
    double seconds = json_number_value(value);
    if (!json_is_number(value) || !(seconds >= 0.001) || !(seconds <= TIMEOUT_MAX_S))
        return fault_set(fault, STATUS_INVALID, name,
                         "timeout must be seconds from 0.001 to %d.", TIMEOUT_MAX_S);
    request->timeout_ms = (uint32_t)(seconds * 1000);
    return STATUS_OK;
}

enum status parameter_cache_salt(struct generation_request *request, const char *name,
                                 const json_t *value, const struct request_limits *limits,
                                 struct fault *fault)
{
    UNUSED_LIMITS;
    struct span salt = json_body_text(value);
    if (!json_is_string(value) || salt.size == 0 || salt.size > CACHE_SALT_BYTES_MAX)
        return fault_set(fault, STATUS_INVALID, name,
                         "cache_salt must be a string of 1 to %d bytes.",
                         CACHE_SALT_BYTES_MAX);
    request->cache_salt = salt;
    return STATUS_OK;
}

enum status parameter_user(struct generation_request *request, const char *name,
                           const json_t *value, const struct request_limits *limits,
                           struct fault *fault)
{
    (void)request;
    UNUSED_LIMITS;
    if (!json_is_string(value) || json_string_length(value) > USER_BYTES_MAX)
        return fault_set(fault, STATUS_INVALID, name,
                         "user must be a string of at most %d bytes.", USER_BYTES_MAX);
    return STATUS_OK;
}
