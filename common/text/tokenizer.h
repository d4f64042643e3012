/* tokenizer.h - text to token ids, as the model's authors' tokenizer gives them.
 *
 * Layer:   common/text (pure: no I/O, no clock; PCRE2 cuts words).
 * Kinds:   byte-level BPE ("gpt2" vocabularies) and SentencePiece's BPE ("llama").
 * Owner:   tokenizer_create copies what it needs; the description may go afterwards.
 * Thread:  a tokenizer is read-only after create; any number of threads may encode.
 * Time:    n log n in the text; special tokens are found in one pass.
 *
 * Control and unknown tokens are found only where text may hold special tokens.
 * User-defined ones are found everywhere, the longest first, since they are part of how a
 * model writes (gemma3 has them for runs of spaces and newlines). Those that look like
 * turn markers, "<|...|>" above all, are control tokens here whatever the file says.
 */
#ifndef ROPEWAY_COMMON_TEXT_TOKENIZER_H
#define ROPEWAY_COMMON_TEXT_TOKENIZER_H

#include "common/base/span.h"
#include "common/base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_NONE UINT32_MAX

/* Numbers of tokenizer.ggml.token_type. */
enum token_type {
    TOKEN_NORMAL = 1,
    TOKEN_UNKNOWN = 2,
    TOKEN_CONTROL = 3,
    TOKEN_USER_DEFINED = 4,
    TOKEN_UNUSED = 5,
    TOKEN_BYTE = 6
};

/* What a vocabulary is made of; filled by tokenizer_gguf.h or by a test. */
struct tokenizer_description {
    const char *model; /* "gpt2" or "llama" (SPM) */
    const char *pre;   /* pre-tokenizer's name, for "gpt2"; unknown names are refused */
    uint32_t tokens_count;
    const struct span *tokens;  /* as in the file: its alphabet, or U+2581 for space */
    const float *scores;        /* SPM; may be NULL for BPE */
    const int32_t *token_types; /* enum token_type */
    uint32_t merges_count;      /* BPE: "left right" in order of rank */
    const struct span *merges;
    uint32_t bos, eos, unknown; /* TOKEN_NONE where the file has none */
    bool add_bos, add_eos, add_space_prefix;
};

struct tokenizer;

enum status tokenizer_create(struct tokenizer **tokenizer,
                             const struct tokenizer_description *description,
                             struct fault *fault);
void tokenizer_destroy(struct tokenizer *tokenizer);

enum {
    TOKENIZE_SPECIAL = 1, /* control tokens' text becomes those tokens */
    TOKENIZE_ADD = 2,     /* BOS and EOS where the vocabulary asks for them */
};

/* Ids that grow up to a bound; init with the most that may be written. */
struct token_list {
    uint32_t *ids;
    size_t count;
    size_t capacity;
    size_t bound;
};
void token_list_init(struct token_list *list, size_t bound);
void token_list_fini(struct token_list *list);
/* False when the bound is reached or memory is out; nothing is appended then. */
bool token_list_push(struct token_list *list, uint32_t id);

/* Appends the ids of text, which must be valid UTF-8 (STATUS_MALFORMED otherwise).
 * STATUS_CONTEXT_LENGTH when the list's bound is reached: encoding stops there. */
enum status tokenizer_encode(const struct tokenizer *tokenizer, struct span text,
                             int flags, struct token_list *list, struct fault *fault);

/* One rendered chat prompt is a run of pieces: the template's own text, in which special
 * tokens are parsed, and what people wrote, in which they never are. The text between is
 * tokenized as one: a border of pieces is no border of words. */
struct text_piece {
    struct span text;
    bool special; /* parse control tokens in here */
};
/* A control token's text counts only when it lies in special pieces alone; of the flags,
 * TOKENIZE_ADD matters. */
enum status tokenizer_encode_pieces(const struct tokenizer *tokenizer,
                                    const struct text_piece *pieces, size_t pieces_count,
                                    int flags, struct token_list *list,
                                    struct fault *fault);

/* The bytes that a token stands for; control tokens give an empty span unless special is
 * set. Never fails for id < tokens_count. */
struct span tokenizer_token_bytes(const struct tokenizer *tokenizer, uint32_t id,
                                  bool special);

uint32_t tokenizer_tokens_count(const struct tokenizer *tokenizer);
uint32_t tokenizer_bos(const struct tokenizer *tokenizer); /* or TOKEN_NONE */
bool tokenizer_adds_bos(const struct tokenizer *tokenizer);
bool tokenizer_adds_space_prefix(const struct tokenizer *tokenizer);
/* Control and unknown tokens: id < tokens_count. */
bool tokenizer_is_control(const struct tokenizer *tokenizer, uint32_t id);

/* Ids that end a generation: eos and the known end-of-turn control tokens
 * (<|im_end|>, <|endoftext|>, <end_of_turn>, <eos>, </s>, <|eot_id|>, <|end_of_text|>,
 * ...). */
const uint32_t *tokenizer_end_tokens(const struct tokenizer *tokenizer, size_t *count);

#endif
