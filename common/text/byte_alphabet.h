/* byte_alphabet.h - the printable characters in which byte-level vocabularies are
 * written.
 *
 * Layer:   common/text (pure).
 * Source:  GPT-2's: bytes 0x21-0x7E, 0xA1-0xAC and 0xAE-0xFF stand for the code points of
 *          the same number; the other 68, in order, for U+0100 and those after it.
 */
#ifndef ROPEWAY_COMMON_TEXT_BYTE_ALPHABET_H
#define ROPEWAY_COMMON_TEXT_BYTE_ALPHABET_H

#include "common/base/span.h"

/* Writes the bytes that text spells into bytes, which has room for text.size, and returns
 * how many. What is no letter of the alphabet is copied: added tokens hold such text. */
size_t byte_alphabet_decode(struct span text, char *bytes);

#endif
