#include "common/text/tokenizer_gguf.h"

#include "common/base/invariant.h"
#include "common/gguf/gguf_reader.h"
#include "common/text/pretokenizer.h"
#include <stdlib.h>

#define KEY(name) "tokenizer.ggml." name

/* Past every known vocabulary, and few enough for arrays of spans. */
#define TOKENS_MAX (1u << 24)

/* The kinds of vocabulary and what they do where the file does not say. */
struct kind {
    const char *model;
    bool has_merges; /* BPE: and a pre-tokenizer; the others have scores */
    bool add_bos, add_space_prefix;
};

static const struct kind kinds[] = {
    {"gpt2", true, false, false},
    {"llama", false, true, true},
};

static const struct kind *find_kind(struct span model)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (span_equal(model, span_of(kinds[i].model)))
            return &kinds[i];
    return NULL;
}

static enum status no_memory(const struct gguf *gguf, struct fault *fault)
{
    return fault_set(fault, STATUS_NO_SPACE, NULL, "%s: no memory for its vocabulary",
                     gguf_path(gguf));
}

/* All strings of the array at key, which must be 1 to TOKENS_MAX. */
static enum status read_strings(const struct gguf *gguf, const char *key,
                                struct span **strings, uint32_t *count,
                                struct fault *fault)
{
    struct gguf_array array;
    enum status status = gguf_get_array(gguf, key, GGUF_STRING, &array, fault);
    if (status != STATUS_OK)
        return status;
    if (array.count == 0 || array.count > TOKENS_MAX)
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "%s: key '%s' has %llu entries; 1 to %u can be used",
                         gguf_path(gguf), key, (unsigned long long)array.count,
                         TOKENS_MAX);
    *strings = calloc(array.count, sizeof **strings);
    if (!*strings)
        return no_memory(gguf, fault);
    *count = (uint32_t)array.count;
    uint64_t cursor = 0;
    for (uint32_t i = 0; i < *count; i++)
        gguf_next_string(&array, &cursor, &(*strings)[i]);
    return STATUS_OK;
}

/* The array at key, which has an element for each token. */
static enum status get_token_array(const struct gguf *gguf, const char *key,
                                   enum gguf_value_type type, uint32_t tokens_count,
                                   struct gguf_array *array, struct fault *fault)
{
    enum status status = gguf_get_array(gguf, key, type, array, fault);
    if (status == STATUS_OK && array->count != tokens_count)
        return fault_set(
            fault, STATUS_CORRUPT, NULL,
            "%s: key '%s' has %llu entries for %u tokens; the file is damaged",
            gguf_path(gguf), key, (unsigned long long)array->count, tokens_count);
    return status;
}

static enum status read_types(struct tokenizer_gguf *read, const struct gguf *gguf,
                              struct fault *fault)
{
    struct gguf_array array;
    uint32_t count = read->description.tokens_count;
    enum status status =
        get_token_array(gguf, KEY("token_type"), GGUF_I32, count, &array, fault);
    if (status != STATUS_OK)
        return status;
    INVARIANT(count > 0); /* read_strings refuses none */
    read->token_types = calloc(count, sizeof *read->token_types);
    if (!read->token_types)
        return no_memory(gguf, fault);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t type = gguf_array_u32(&array, i);
        if (type > TOKEN_BYTE)
            return fault_set(fault, STATUS_CORRUPT, NULL,
                             "%s: token %u has type %d; types are 1 to %d",
                             gguf_path(gguf), i, (int32_t)type, TOKEN_BYTE);
        /* 0 is "undefined", which some writers put where they mean nothing special. */
        read->token_types[i] = type == 0 ? TOKEN_NORMAL : (int32_t)type;
    }
    read->description.token_types = read->token_types;
    return STATUS_OK;
}

static enum status read_scores(struct tokenizer_gguf *read, const struct gguf *gguf,
                               struct fault *fault)
{
    struct gguf_array array;
    uint32_t count = read->description.tokens_count;
    enum status status =
        get_token_array(gguf, KEY("scores"), GGUF_F32, count, &array, fault);
    if (status != STATUS_OK)
        return status;
    read->scores = calloc(count, sizeof *read->scores);
    if (!read->scores)
        return no_memory(gguf, fault);
    for (uint32_t i = 0; i < count; i++)
        read->scores[i] = gguf_array_f32(&array, i);
    read->description.scores = read->scores;
    return STATUS_OK;
}

/* A missing name is not taken for "gpt2": that would give other tokens, and nobody would
 * notice. */
static enum status read_pre(struct tokenizer_gguf *read, const struct gguf *gguf,
                            struct fault *fault)
{
    struct span name;
    enum status status = gguf_get_string(gguf, KEY("pre"), &name, fault);
    if (status != STATUS_OK)
        return status;
    if (name.size == 0 || name.size >= sizeof read->pre ||
        memchr(name.data, '\0', name.size))
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "%s: key '" KEY("pre") "' is not a name of 1 to %d bytes",
                         gguf_path(gguf), TOKENIZER_PRE_BYTES - 1);
    memcpy(read->pre, name.data, name.size);
    read->description.pre = read->pre;
    return STATUS_OK;
}

static enum status read_merges(struct tokenizer_gguf *read, const struct gguf *gguf,
                               struct fault *fault)
{
    enum status status = read_strings(gguf, KEY("merges"), &read->merges,
                                      &read->description.merges_count, fault);
    read->description.merges = read->merges;
    return status;
}

static enum status read_id(const struct gguf *gguf, const char *key,
                           uint32_t tokens_count, uint32_t *id, struct fault *fault)
{
    *id = TOKEN_NONE;
    if (!gguf_has(gguf, key))
        return STATUS_OK;
    enum status status = gguf_get_u32(gguf, key, id, fault);
    if (status == STATUS_OK && *id >= tokens_count)
        return fault_set(fault, STATUS_CORRUPT, NULL,
                         "%s: key '%s' is %u, but there are %u tokens", gguf_path(gguf),
                         key, *id, tokens_count);
    return status;
}

static enum status read_flag(const struct gguf *gguf, const char *key, bool missing,
                             bool *flag, struct fault *fault)
{
    *flag = missing;
    return gguf_has(gguf, key) ? gguf_get_bool(gguf, key, flag, fault) : STATUS_OK;
}

static enum status read_ids_and_flags(struct tokenizer_gguf *read,
                                      const struct kind *kind, const struct gguf *gguf,
                                      struct fault *fault)
{
    struct tokenizer_description *to = &read->description;
    enum status status =
        read_id(gguf, KEY("bos_token_id"), to->tokens_count, &to->bos, fault);
    if (status == STATUS_OK)
        status = read_id(gguf, KEY("eos_token_id"), to->tokens_count, &to->eos, fault);
    if (status == STATUS_OK)
        status =
            read_id(gguf, KEY("unknown_token_id"), to->tokens_count, &to->unknown, fault);
    if (status == STATUS_OK)
        status = read_flag(gguf, KEY("add_bos_token"),
                           kind->add_bos || pretokenizer_adds_bos(to->pre), &to->add_bos,
                           fault);
    if (status == STATUS_OK)
        status = read_flag(gguf, KEY("add_eos_token"), false, &to->add_eos, fault);
    if (status == STATUS_OK)
        status = read_flag(gguf, KEY("add_space_prefix"), kind->add_space_prefix,
                           &to->add_space_prefix, fault);
    return status;
}

static enum status read_parts(struct tokenizer_gguf *read, const struct gguf *gguf,
                              struct fault *fault)
{
    struct span model;
    enum status status = gguf_get_string(gguf, KEY("model"), &model, fault);
    if (status != STATUS_OK)
        return status;
    const struct kind *kind = find_kind(model);
    if (!kind)
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "%s: has a tokenizer of kind '%s'; gpt2 and llama are supported",
                         gguf_path(gguf), gguf_label(model).text);
    read->description.model = kind->model;
    status = read_strings(gguf, KEY("tokens"), &read->tokens,
                          &read->description.tokens_count, fault);
    read->description.tokens = read->tokens;
    if (status == STATUS_OK)
        status = read_types(read, gguf, fault);
    if (status == STATUS_OK && kind->has_merges)
        status = read_merges(read, gguf, fault);
    if (status == STATUS_OK)
        status = kind->has_merges ? read_pre(read, gguf, fault)
                                  : read_scores(read, gguf, fault);
    if (status == STATUS_OK)
        status = read_ids_and_flags(read, kind, gguf, fault);
    return status;
}

enum status tokenizer_gguf_read(struct tokenizer_gguf *read, const struct gguf *gguf,
                                struct fault *fault)
{
    *read = (struct tokenizer_gguf){0};
    enum status status = read_parts(read, gguf, fault);
    if (status != STATUS_OK)
        tokenizer_gguf_fini(read);
    return status;
}

void tokenizer_gguf_fini(struct tokenizer_gguf *read)
{
    free(read->tokens);
    free(read->merges);
    free(read->token_types);
    free(read->scores);
    *read = (struct tokenizer_gguf){0};
}

enum status tokenizer_gguf_create(struct tokenizer **tokenizer, const struct gguf *gguf,
                                  struct fault *fault)
{
    struct tokenizer_gguf read;
    enum status status = tokenizer_gguf_read(&read, gguf, fault);
    if (status != STATUS_OK)
        return status;
    status = tokenizer_create(tokenizer, &read.description, fault);
    tokenizer_gguf_fini(&read);
    return status;
}

enum status tokenizer_gguf_chat_template(const struct gguf *gguf, struct span *text,
                                         struct fault *fault)
{
    return gguf_get_string(gguf, "tokenizer.chat_template", text, fault);
}
