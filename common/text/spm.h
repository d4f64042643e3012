/* spm.h - SentencePiece's BPE: joins by score, spaces as U+2581, bytes as a last resort.
 *
 * Layer:   common/text (pure).
 * Rule:    a text begins as its characters; of all neighbours that together are a token,
 *          those of the highest score are joined first, the leftmost of equal ones before
 *          others. A character that is no token becomes its bytes' tokens (<0xNN>).
 */
#ifndef ROPEWAY_COMMON_TEXT_SPM_H
#define ROPEWAY_COMMON_TEXT_SPM_H

#include "common/base/buffer.h"
#include "common/text/merger.h"
#include "common/text/vocabulary.h"

struct spm {
    const struct vocabulary *vocabulary;
    uint32_t *orders; /* a token's place by score, best first, equal for equal scores */
};

enum status spm_init(struct spm *spm, const struct vocabulary *vocabulary,
                     const float *scores, struct fault *fault);
void spm_fini(struct spm *spm);

/* Writes text, with U+2581 for spaces and one before it if prefixed, into escaped, and
 * leaves its symbols in merger, over escaped. False when memory is out. */
bool spm_merge_text(const struct spm *spm, struct span text, bool prefixed,
                    struct buffer *escaped, struct merger *merger);

#endif
