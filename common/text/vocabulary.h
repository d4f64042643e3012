/* vocabulary.h - what each token is: its text in the file, its bytes in the output.
 *
 * Layer:   common/text (pure).
 * Owner:   vocabulary_init copies everything; afterwards it is read-only.
 * Plain:   the tokens that ordinary text may become. Control, unknown and byte tokens are
 *          not among them, so merging can never arrive at one.
 */
#ifndef ROPEWAY_COMMON_TEXT_VOCABULARY_H
#define ROPEWAY_COMMON_TEXT_VOCABULARY_H

#include "common/base/map.h"
#include "common/text/special_index.h"
#include "common/text/tokenizer.h"

struct vocabulary {
    bool byte_level; /* BPE: normal tokens are written in the byte alphabet */
    uint32_t count;
    struct span *bytes; /* what a token puts into the output */
    uint8_t *types;     /* enum token_type */
    char *memory;
    struct map plain; /* by bytes (byte-level), or by text with U+2581 for a space */
    struct special_index specials;
    uint32_t byte_ids[256]; /* the token of one byte, or TOKEN_NONE */
    uint32_t *end_ids;
    size_t end_ids_count;
};

enum status vocabulary_init(struct vocabulary *vocabulary,
                            const struct tokenizer_description *description,
                            struct fault *fault);
void vocabulary_fini(struct vocabulary *vocabulary);

#endif
