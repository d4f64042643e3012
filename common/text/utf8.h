/* utf8.h - UTF-8 a character at a time: whole, broken, or cut off by the end.
 *
 * Layer:   common/text (pure).
 * Source:  Unicode 15, section 3.9, table 3-7 (well-formed byte sequences: no overlong
 *          forms, no surrogates, nothing past U+10FFFF) and "substitution of maximal
 *          subparts", which says how many bytes one U+FFFD stands for.
 */
#ifndef ROPEWAY_COMMON_TEXT_UTF8_H
#define ROPEWAY_COMMON_TEXT_UTF8_H

#include "common/base/span.h"
#include <stdint.h>

#define UTF8_BYTES_MAX   4
#define UTF8_REPLACEMENT SPAN_LITERAL("\xEF\xBF\xBD") /* U+FFFD */

enum utf8_kind {
    UTF8_WHOLE,  /* size bytes are one character */
    UTF8_BROKEN, /* size bytes can never become one: a maximal subpart */
    UTF8_CUT,    /* all size bytes that are left are the beginning of one */
};

struct utf8_step {
    enum utf8_kind kind;
    uint8_t size;  /* 1 to UTF8_BYTES_MAX */
    uint32_t code; /* the character, where whole */
};

/* What text, which is not empty, begins with. */
struct utf8_step utf8_next(struct span text);

bool utf8_valid(struct span text);

/* Writes a character's 1 to UTF8_BYTES_MAX bytes and returns how many. code is a Unicode
 * scalar value. */
uint8_t utf8_write(uint32_t code, char bytes[UTF8_BYTES_MAX]);

#endif
