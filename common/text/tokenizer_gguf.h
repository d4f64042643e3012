/* tokenizer_gguf.h - a tokenizer and a chat template from a GGUF file's metadata.
 *
 * Layer:   common/text over common/gguf.
 * Keys:    tokenizer.ggml.{model, pre, tokens, scores, token_type, merges, bos_token_id,
 *          eos_token_id, unknown_token_id, add_bos_token, add_eos_token,
 *          add_space_prefix} and tokenizer.chat_template.
 * Checks:  arrays of one vocabulary have equal lengths, ids are in range, token types are
 *          known, and what the kind of vocabulary cannot do without is there.
 */
#ifndef ROPEWAY_COMMON_TEXT_TOKENIZER_GGUF_H
#define ROPEWAY_COMMON_TEXT_TOKENIZER_GGUF_H

#include "common/gguf/gguf.h"
#include "common/text/tokenizer.h"

#define TOKENIZER_PRE_BYTES 64

/* A description and the memory that it points into; texts borrow from the gguf. */
struct tokenizer_gguf {
    struct tokenizer_description description;
    char pre[TOKENIZER_PRE_BYTES];
    struct span *tokens;
    struct span *merges;
    int32_t *token_types;
    float *scores;
};

/* Reads the description. On failure nothing needs to be freed. */
enum status tokenizer_gguf_read(struct tokenizer_gguf *read, const struct gguf *gguf,
                                struct fault *fault);
void tokenizer_gguf_fini(struct tokenizer_gguf *read);

/* Reads it and makes the tokenizer, which does not need the gguf afterwards. */
enum status tokenizer_gguf_create(struct tokenizer **tokenizer, const struct gguf *gguf,
                                  struct fault *fault);

/* The chat template's text, borrowed; STATUS_NOT_FOUND where the file has none. */
enum status tokenizer_gguf_chat_template(const struct gguf *gguf, struct span *text,
                                         struct fault *fault);

#endif
