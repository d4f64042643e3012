#include "scheduler/core/intake.h"

#include "scheduler/core/request.h"

static enum status invalid(struct fault *fault, const char *field, const char *rule)
{
    return fault_set(fault, STATUS_INVALID, field, "%s must be %s", field, rule);
}

/* No tokens at or above the vocabulary's count, and whole u32s. */
static bool are_tokens(struct span tokens, uint32_t vocabulary_count)
{
    if (tokens.size % sizeof(uint32_t) != 0)
        return false;
    for (size_t i = 0; i < wire_u32_count(tokens); i++)
        if (wire_u32(tokens, i) >= vocabulary_count)
            return false;
    return true;
}

/* The finite ones of a range; a NaN is in none. */
static bool within(float value, float low, float high)
{
    return value >= low && value <= high;
}

static bool are_biases(struct span biases, uint32_t vocabulary_count)
{
    if (biases.size % sizeof(struct logit_bias) != 0 ||
        biases.size / sizeof(struct logit_bias) > LOGIT_BIAS_MAX)
        return false;
    for (size_t at = 0; at < biases.size; at += sizeof(struct logit_bias)) {
        struct logit_bias bias;
        memcpy(&bias, biases.data + at, sizeof bias);
        if (bias.token >= vocabulary_count || !within(bias.bias, -1e6f, 1e6f))
            return false;
    }
    return true;
}

static enum status check_identity(const struct submit_request *submit,
                                  struct fault *fault)
{
    if (submit->id.size == 0 || submit->id.size >= REQUEST_ID_BYTES ||
        memchr(submit->id.data, '\0', submit->id.size) != NULL)
        return invalid(fault, "id", "1 to 63 bytes, none of them zero");
    if (submit->owner_key.size != 0 && submit->owner_key.size != OWNER_KEY_BYTES)
        return invalid(fault, "owner_key", "32 bytes or none");
    if (submit->body_digest.size != sizeof((struct request_record){0}.body_digest))
        return invalid(fault, "body_digest", "32 bytes");
    if (submit->frontend == 0)
        return invalid(fault, "frontend", "another number than 0");
    if (submit->priority < INT32_MIN || submit->priority > INT32_MAX)
        return invalid(fault, "priority", "a number of 32 bits");
    return STATUS_OK;
}

/* The frontend has checked these for the client's sake; here they are checked so that no
 * frontend can make the worker compute nonsense. */
static enum status check_sampling(const struct sampling *sampling, struct fault *fault)
{
    if (!within(sampling->temperature, 0, 100))
        return invalid(fault, "temperature", "from 0 to 100");
    if (!(within(sampling->top_p, 0, 1) && sampling->top_p > 0))
        return invalid(fault, "top_p", "above 0 and at most 1");
    if (!within(sampling->min_p, 0, 1))
        return invalid(fault, "min_p", "from 0 to 1");
    if (!(within(sampling->repetition_penalty, 0, 100) &&
          sampling->repetition_penalty > 0))
        return invalid(fault, "repetition_penalty", "above 0 and at most 100");
    if (!within(sampling->presence_penalty, -100, 100))
        return invalid(fault, "presence_penalty", "from -100 to 100");
    if (!within(sampling->frequency_penalty, -100, 100))
        return invalid(fault, "frequency_penalty", "from -100 to 100");
    if (sampling->top_k < 0)
        return invalid(fault, "top_k", "0 or more");
    if (sampling->top_logprobs > TOP_LOGPROBS_MAX)
        return invalid(fault, "top_logprobs", "at most 20");
    return STATUS_OK;
}

static enum status check_parts(const struct submit_request *submit,
                               uint32_t vocabulary_count, struct fault *fault)
{
    if (submit->prompt_tokens.size == 0 ||
        !are_tokens(submit->prompt_tokens, vocabulary_count))
        return invalid(fault, "prompt_tokens", "one token of the vocabulary or more");
    if (wire_u32_count(submit->stop_tokens) > STOP_TOKENS_MAX ||
        !are_tokens(submit->stop_tokens, vocabulary_count))
        return invalid(fault, "stop_tokens", "at most 64 tokens of the vocabulary");
    if (!are_biases(submit->logit_bias, vocabulary_count))
        return invalid(fault, "logit_bias", "at most 300 tokens with finite biases");
    if (submit->grammar.size > GRAMMAR_BYTES_MAX)
        return invalid(fault, "grammar", "at most 65536 bytes");
    if (submit->cache_salt.size > CACHE_SALT_BYTES_MAX)
        return invalid(fault, "cache_salt", "at most 256 bytes");
    if (submit->client_blob.size > CLIENT_BLOB_BYTES_MAX)
        return invalid(fault, "client_blob", "at most 65536 bytes");
    if (submit->max_tokens == 0)
        return invalid(fault, "max_tokens", "1 or more");
    return STATUS_OK;
}

static enum status check_length(const struct submit_request *submit,
                                const struct geometry *geometry, struct fault *fault)
{
    uint64_t prompt_count = wire_u32_count(submit->prompt_tokens);
    uint64_t wanted = prompt_count + submit->max_tokens;
    if (wanted > geometry->context_length)
        return fault_set(fault, STATUS_CONTEXT_LENGTH, "max_tokens",
                         "the prompt's %llu tokens and max_tokens %u together exceed the "
                         "context of %u tokens",
                         (unsigned long long)prompt_count, submit->max_tokens,
                         geometry->context_length);
    uint32_t blocks_count = request_blocks_for((uint32_t)wanted, geometry->block_size);
    if (blocks_count > geometry->blocks_count)
        return fault_set(fault, STATUS_CONTEXT_LENGTH, "max_tokens",
                         "the prompt's %llu tokens and max_tokens %u need %u KV blocks "
                         "of %u tokens, but the whole pool has %u: ask for fewer tokens",
                         (unsigned long long)prompt_count, submit->max_tokens,
                         blocks_count, geometry->block_size, geometry->blocks_count);
    return STATUS_OK;
}

enum status intake_check(const struct submit_request *submit,
                         const struct geometry *geometry, struct fault *fault)
{
    enum status status = check_identity(submit, fault);
    if (status == STATUS_OK)
        status = check_sampling(&submit->sampling, fault);
    if (status == STATUS_OK)
        status = check_parts(submit, geometry->vocabulary_count, fault);
    if (status == STATUS_OK)
        status = check_length(submit, geometry, fault);
    return status;
}

static void describe_extent(struct request_record *record,
                            const struct submit_request *submit, uint32_t block_size)
{
    record->tokens_capacity = record->prompt_tokens_count + record->max_tokens;
    record->blocks_capacity = request_blocks_for(record->tokens_capacity, block_size);
    record->logprobs_per_token =
        record->sampling.logprobs ? 1u + record->sampling.top_logprobs : 0;
    record->logit_bias_count =
        (uint32_t)(submit->logit_bias.size / sizeof(struct logit_bias));
    record->stop_tokens_count = (uint32_t)wire_u32_count(submit->stop_tokens);
    record->grammar_bytes = (uint32_t)submit->grammar.size;
    record->client_blob_bytes = (uint32_t)submit->client_blob.size;
    record->extent_pages_count = extent_pages(record);
}

void intake_describe(struct request_record *record, const struct submit_request *submit,
                     uint32_t block_size)
{
    /* State and use stand before the id, and outlive the uses of a slot. */
    size_t kept_bytes = offsetof(struct request_record, id);
    memset((char *)record + kept_bytes, 0, sizeof *record - kept_bytes);
    memcpy(record->id, submit->id.data, submit->id.size);
    if (submit->owner_key.size != 0)
        memcpy(record->owner_key, submit->owner_key.data, OWNER_KEY_BYTES);
    memcpy(record->body_digest, submit->body_digest.data, sizeof record->body_digest);
    record->frontend = submit->frontend;
    record->choice = submit->choice;
    record->priority = (int32_t)submit->priority;
    record->sampling = submit->sampling;
    record->prompt_tokens_count = (uint32_t)wire_u32_count(submit->prompt_tokens);
    record->tokens_count = record->prompt_tokens_count;
    record->max_tokens = submit->max_tokens;
    describe_extent(record, submit, block_size);
}

static void copy_part(void *part, struct span bytes)
{
    if (bytes.size != 0)
        memcpy(part, bytes.data, bytes.size);
}

void intake_fill(const struct control *control, struct request_record *record,
                 const struct submit_request *submit)
{
    struct extent extent = extent_view(control, record);
    copy_part(extent.tokens, submit->prompt_tokens);
    copy_part(extent.logit_bias, submit->logit_bias);
    copy_part(extent.stop_tokens, submit->stop_tokens);
    copy_part(extent.grammar, submit->grammar);
    copy_part(extent.client_blob, submit->client_blob);
}
