/* detokenizer.h - token ids to text, a token at a time, never splitting a character.
 *
 * Layer:   common/text (pure).
 * Bytes of an unfinished UTF-8 character are held until it is whole; bytes that can never
 * become one are replaced by U+FFFD, one for each maximal broken run (Unicode 15, 3.9,
 * "substitution of maximal subparts"), so the same ids give the same text however they
 * arrive. A sequence in flight costs this struct and no heap.
 */
#ifndef ROPEWAY_COMMON_TEXT_DETOKENIZER_H
#define ROPEWAY_COMMON_TEXT_DETOKENIZER_H

#include "common/base/buffer.h"
#include "common/text/tokenizer.h"

struct detokenizer {
    const struct tokenizer *tokenizer;
    char held[4];
    uint8_t held_count;
    bool special;  /* write control tokens' text too */
    bool at_start; /* SPM with add_space_prefix drops the first space */
};

void detokenizer_init(struct detokenizer *detokenizer, const struct tokenizer *tokenizer,
                      bool special, bool at_start);

/* Appends to text what id completes. */
void detokenizer_push(struct detokenizer *detokenizer, uint32_t id, struct buffer *text);

/* The end: a half character still held becomes one U+FFFD. */
void detokenizer_finish(struct detokenizer *detokenizer, struct buffer *text);

#endif
