/* stop_matcher.h - ends text right before the first stop string, and leaks none of it.
 *
 * Layer:   common/text (pure).
 * Method:  text comes in as it is generated; what may be the beginning of a stop string
 * is held back, and released as soon as it cannot be one (longest suffix of the held text
 * that is a prefix of some stop). The match that ends first wins; among those that end
 * together, the one that began first.
 */
#ifndef ROPEWAY_COMMON_TEXT_STOP_MATCHER_H
#define ROPEWAY_COMMON_TEXT_STOP_MATCHER_H

#include "common/base/buffer.h"
#include <stdint.h>

#define STOP_STRINGS_MAX      4
#define STOP_STRING_BYTES_MAX 256

struct stop_matcher {
    struct span stops[STOP_STRINGS_MAX]; /* borrowed */
    uint32_t stops_count;
    struct buffer held;
    int32_t matched; /* index of the stop that ended the text, or -1 */
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
