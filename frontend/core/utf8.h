/* utf8.h - where UTF-8 is whole and where it is broken. Layer: frontend/core (pure). */
#ifndef ROPEWAY_FRONTEND_CORE_UTF8_H
#define ROPEWAY_FRONTEND_CORE_UTF8_H

#include "common/base/span.h"

/* The size of the character that text begins with, or 0 with *broken set to the size of
 * the maximal broken run (Unicode 15, 3.9). text is not empty. */
size_t utf8_character_size(struct span text, size_t *broken);

bool utf8_is_valid(struct span text);

#endif
