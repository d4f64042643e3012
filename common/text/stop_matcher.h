/* stop_matcher.h - ends text right before the first stop string, and leaks none of it.
 *
 * Layer:   common/text (pure).
 * Method:  text comes in as it is generated; what may be the beginning of a stop string
 *          is held back, and released as soon as it cannot be one (longest suffix of the
 *          text that is a prefix of some stop). The match that ends first wins; among
 *          those that end together, the one that began first.
 * Source:  Knuth, Morris, Pratt, "Fast Pattern Matching in Strings", 1977, one automaton
 *          a stop. What is held is a stop's beginning, so it needs no memory of its own.
 */
#ifndef ROPEWAY_COMMON_TEXT_STOP_MATCHER_H
#define ROPEWAY_COMMON_TEXT_STOP_MATCHER_H

#include "common/base/buffer.h"
#include <stdint.h>

#define STOP_STRINGS_MAX      4   /* OpenAI's bound */
#define STOP_STRING_BYTES_MAX 256 /* so little text is held back at most */

struct stop_matcher {
    struct span stops[STOP_STRINGS_MAX]; /* borrowed */
    uint32_t stops_count;
    int32_t matched; /* index of the stop that ended the text, or -1 */
    /* How many bytes of each stop the text ends with; and, per stop, how many it ends
     * with instead when the byte after its first n bytes is another one. */
    uint16_t progress[STOP_STRINGS_MAX];
    uint16_t fallback[STOP_STRINGS_MAX][STOP_STRING_BYTES_MAX];
};

/* Stops are 1 to STOP_STRING_BYTES_MAX bytes each, checked by the caller; they are
 * borrowed until fini. With no stops the matcher passes everything through. */
void stop_matcher_init(struct stop_matcher *matcher, const struct span *stops,
                       uint32_t stops_count);
void stop_matcher_fini(struct stop_matcher *matcher);

/* Takes text in, appends what is certain to out. True once a stop has matched; text after
 * it is dropped, and later pushes append nothing. */
bool stop_matcher_push(struct stop_matcher *matcher, struct span text,
                       struct buffer *out);

/* The generation ended without a match: what was held back is text after all. */
void stop_matcher_finish(struct stop_matcher *matcher, struct buffer *out);

#endif
