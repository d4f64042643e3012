#include "common/text/tokenizer.h"

#include "common/base/invariant.h"
#include "common/text/tokenizer_internal.h"
#include <stdlib.h>

static enum status init_kind(struct tokenizer *tokenizer,
                             const struct tokenizer_description *description,
                             struct fault *fault)
{
    const struct vocabulary *vocabulary = &tokenizer->vocabulary;
    if (!vocabulary->byte_level)
        return spm_init(&tokenizer->spm, vocabulary, description->scores, fault);
    enum status status =
        pretokenizer_create(&tokenizer->pretokenizer, description->pre, fault);
    if (status != STATUS_OK)
        return status;
    return bpe_init(&tokenizer->bpe, vocabulary, description->merges,
                    description->merges_count, fault);
}

static enum status check_kind(const struct tokenizer_description *description,
                              struct fault *fault)
{
    bool spm = strcmp(description->model, "llama") == 0;
    if (!spm && strcmp(description->model, "gpt2") != 0)
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "tokenizers of kind '%s' are not supported; gpt2 and llama are",
                         description->model);
    if (spm && !description->scores)
        return fault_set(fault, STATUS_CORRUPT, NULL,
                         "a vocabulary of kind 'llama' needs scores");
    return STATUS_OK;
}

enum status tokenizer_create(struct tokenizer **tokenizer,
                             const struct tokenizer_description *description,
                             struct fault *fault)
{
    enum status status = check_kind(description, fault);
    if (status != STATUS_OK)
        return status;
    struct tokenizer *made = calloc(1, sizeof *made);
    if (!made)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for a tokenizer");
    made->bos = description->bos;
    made->eos = description->eos;
    made->unknown = description->unknown;
    made->add_bos = description->add_bos && description->bos != TOKEN_NONE;
    made->add_eos = description->add_eos && description->eos != TOKEN_NONE;
    status = vocabulary_init(&made->vocabulary, description, fault);
    if (status == STATUS_OK) {
        made->add_space_prefix =
            description->add_space_prefix && !made->vocabulary.byte_level;
        status = init_kind(made, description, fault);
    }
    if (status != STATUS_OK) {
        tokenizer_destroy(made);
        return status;
    }
    *tokenizer = made;
    return STATUS_OK;
}

void tokenizer_destroy(struct tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    spm_fini(&tokenizer->spm);
    bpe_fini(&tokenizer->bpe);
    pretokenizer_destroy(tokenizer->pretokenizer);
    vocabulary_fini(&tokenizer->vocabulary);
    free(tokenizer);
}

struct span tokenizer_token_bytes(const struct tokenizer *tokenizer, uint32_t id,
                                  bool special)
{
    const struct vocabulary *vocabulary = &tokenizer->vocabulary;
    INVARIANT(id < vocabulary->count);
    if (!special && tokenizer_is_control(tokenizer, id))
        return (struct span){NULL, 0};
    return vocabulary->bytes[id];
}

bool tokenizer_is_control(const struct tokenizer *tokenizer, uint32_t id)
{
    INVARIANT(id < tokenizer->vocabulary.count);
    uint8_t type = tokenizer->vocabulary.types[id];
    return type == TOKEN_CONTROL || type == TOKEN_UNKNOWN;
}

uint32_t tokenizer_tokens_count(const struct tokenizer *tokenizer)
{
    return tokenizer->vocabulary.count;
}

uint32_t tokenizer_bos(const struct tokenizer *tokenizer)
{
    return tokenizer->bos;
}

bool tokenizer_adds_bos(const struct tokenizer *tokenizer)
{
    return tokenizer->add_bos;
}

bool tokenizer_adds_space_prefix(const struct tokenizer *tokenizer)
{
    return tokenizer->add_space_prefix;
}

const uint32_t *tokenizer_end_tokens(const struct tokenizer *tokenizer, size_t *count)
{
    *count = tokenizer->vocabulary.end_ids_count;
    return tokenizer->vocabulary.end_ids;
}
