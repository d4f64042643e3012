/* tiny_vocabulary.h - the tiny model's tokens, merges and chat template.
 *
 * Byte-level BPE ("gpt2", pre-tokenizer "smollm"): three control tokens, the 256 bytes,
 * one token for each merge. Or SPM ("llama"): unknown, BOS and EOS, the 256 byte tokens,
 * printable characters and U+2581, common pieces; adds BOS.
 */
#ifndef ROPEWAY_TOOLS_TINY_TINY_VOCABULARY_H
#define ROPEWAY_TOOLS_TINY_TINY_VOCABULARY_H

#include "tools/tiny/gguf_writer.h"

#define TINY_TOKENS_MAX      512
#define TINY_TOKEN_BYTES_MAX 32

struct tiny_token {
    char text[TINY_TOKEN_BYTES_MAX];
    int32_t type; /* of tokenizer.ggml.token_type */
    float score;  /* SPM */
    bool likely;  /* printable: the model shall prefer it */
};

struct tiny_vocabulary {
    struct tiny_token tokens[TINY_TOKENS_MAX];
    uint32_t count;
};

void tiny_vocabulary_bpe(struct tiny_vocabulary *vocabulary);
void tiny_vocabulary_spm(struct tiny_vocabulary *vocabulary);

/* Everything under tokenizer. */
void tiny_vocabulary_write_bpe(const struct tiny_vocabulary *vocabulary,
                               struct gguf_writer *writer);
void tiny_vocabulary_write_spm(const struct tiny_vocabulary *vocabulary,
                               struct gguf_writer *writer);

#endif
