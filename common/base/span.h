/* span.h - a borrowed run of bytes: who made it owns it, and it is never NUL-terminated.
 */
#ifndef ROPEWAY_COMMON_BASE_SPAN_H
#define ROPEWAY_COMMON_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
    const char *data;
    size_t size;
};

#define SPAN_LITERAL(text) ((struct span){(text), sizeof(text) - 1})

static inline struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

#endif
