/* buffer.h - bytes that grow up to a bound set at init.
 *
 * Layer:   common/base (pure; allocates).
 * Failure: an append past the bound, or when memory is out, appends nothing and marks the
 *          buffer failed; later appends do nothing either. So a writer appends freely and
 *          asks once, at the end, whether everything went in.
 */
#ifndef ROPEWAY_COMMON_BASE_BUFFER_H
#define ROPEWAY_COMMON_BASE_BUFFER_H

#include "common/base/span.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buffer {
    char *data;
    size_t size;
    size_t capacity;
    size_t bound;
    bool failed;
};

void buffer_init(struct buffer *buffer, size_t bound);
void buffer_fini(struct buffer *buffer);

/* Forgets content and failure, keeps the memory. */
void buffer_clear(struct buffer *buffer);

void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_append_span(struct buffer *buffer, struct span span);
void buffer_append_text(struct buffer *buffer, const char *text);
void buffer_append_byte(struct buffer *buffer, char byte);
void buffer_append_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Room for size bytes at the end, already counted in; NULL when that failed. */
char *buffer_extend(struct buffer *buffer, size_t size);

/* Drops the first size bytes; size must not exceed buffer->size. */
void buffer_consume(struct buffer *buffer, size_t size);

static inline struct span buffer_span(const struct buffer *buffer)
{
    return (struct span){buffer->data, buffer->size};
}

#endif
