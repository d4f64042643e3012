/* special_index.h - finds the longest special token that text begins with.
 *
 * Layer:   common/text (pure).
 * Method:  the tokens' texts stand sorted; each further byte narrows the range of those
 *          that still fit, from a table by first byte on. So a text is searched once,
 *          however many special tokens there are.
 */
#ifndef ROPEWAY_COMMON_TEXT_SPECIAL_INDEX_H
#define ROPEWAY_COMMON_TEXT_SPECIAL_INDEX_H

#include "common/base/span.h"
#include <stdint.h>

struct special {
    struct span text; /* borrowed, not empty */
    uint32_t id;
    bool control; /* only where the text may hold control tokens */
};

struct special_index {
    struct special *entries;
    uint32_t first[257]; /* those that begin with byte b: first[b] to first[b + 1] */
};

/* Takes over entries, made by malloc, and sorts them. */
void special_index_init_take(struct special_index *index, struct special *entries,
                             uint32_t count);
void special_index_fini(struct special_index *index);

/* The longest entry at the beginning of text, or NULL. Control tokens may only use the
 * first control_size bytes of it. Of entries with one text the lowest id is found. */
const struct special *special_index_find(const struct special_index *index,
                                         struct span text, size_t control_size);

#endif
