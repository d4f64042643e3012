/* bpe.h - byte-level byte-pair encoding of one word.
 *
 * Layer:   common/text (pure).
 * Rule:    a word begins as its bytes; of all neighbours for which there is a merge,
 *          those of the lowest rank are joined first, the leftmost of equal ones before
 *          others. A byte that the vocabulary has no token for is left out, as the
 *          authors' tokenizers do where they name no unknown token.
 */
#ifndef ROPEWAY_COMMON_TEXT_BPE_H
#define ROPEWAY_COMMON_TEXT_BPE_H

#include "common/text/merger.h"
#include "common/text/vocabulary.h"

struct bpe_merge {
    uint32_t pair[2];
    uint32_t id; /* the token that the pair makes */
};

struct bpe {
    struct bpe_merge *merges; /* by rank */
    struct map ranks;         /* by the bytes of pair */
};

/* Resolves "left right" texts to tokens. A merge of what is not in the vocabulary is
 * refused; one that would make a control token is left out. */
enum status bpe_init(struct bpe *bpe, const struct vocabulary *vocabulary,
                     const struct span *merges, uint32_t merges_count,
                     struct fault *fault);
void bpe_fini(struct bpe *bpe);

/* Leaves the word's tokens in merger's symbols. False when memory is out. */
bool bpe_merge_word(const struct bpe *bpe, const struct vocabulary *vocabulary,
                    struct span word, struct merger *merger);

#endif
