/* json_text.h - writing JSON, straight into a buffer.
 *
 * Layer:   frontend/core (pure).
 * Strings: bytes that are no UTF-8 become U+FFFD, one for each maximal broken run, so
 * that whatever a model makes, the answer is JSON.
 */
#ifndef ROPEWAY_FRONTEND_CORE_JSON_TEXT_H
#define ROPEWAY_FRONTEND_CORE_JSON_TEXT_H

#include "common/base/buffer.h"

/* "text" with its quotes. */
void json_text_string(struct buffer *out, struct span text);

/* The shortest of up to 9 digits; null for what JSON cannot say. */
void json_text_number(struct buffer *out, double value);

/* "name": */
void json_text_key(struct buffer *out, const char *name);

/* [1,2,3]: the bytes as numbers, as OpenAI's logprobs have them. */
void json_text_bytes(struct buffer *out, struct span bytes);

#endif
