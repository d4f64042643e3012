#include "common/base/buffer.h"

#include "common/base/invariant.h"
#include <stdio.h>
#include <stdlib.h>

#define BUFFER_FIRST_BYTES 256

void buffer_init(struct buffer *buffer, size_t bound)
{
    *buffer = (struct buffer){.bound = bound};
}

void buffer_fini(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){0};
}

void buffer_clear(struct buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

/* Doubles the memory until needed bytes fit, never past the bound. */
static bool buffer_grow(struct buffer *buffer, size_t needed)
{
    size_t capacity = buffer->capacity ? buffer->capacity : BUFFER_FIRST_BYTES;
    while (capacity < needed)
        capacity = capacity > buffer->bound / 2 ? buffer->bound : capacity * 2;
    char *data = realloc(buffer->data, capacity);
    if (!data)
        return false;
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

char *buffer_extend(struct buffer *buffer, size_t size)
{
    if (buffer->failed)
        return NULL;
    if (size > buffer->bound - buffer->size ||
        (size > buffer->capacity - buffer->size &&
         !buffer_grow(buffer, buffer->size + size))) {
        buffer->failed = true;
        return NULL;
    }
    char *room = buffer->data + buffer->size;
    buffer->size += size;
    return room;
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
    if (size == 0)
        return;
    char *room = buffer_extend(buffer, size);
    if (room)
        memcpy(room, data, size);
}

void buffer_append_span(struct buffer *buffer, struct span span)
{
    buffer_append(buffer, span.data, span.size);
}

void buffer_append_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_append_byte(struct buffer *buffer, char byte)
{
    buffer_append(buffer, &byte, 1);
}

void buffer_append_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    /* vsnprintf ends with a NUL, which takes one byte more while it is written. */
    char *room = size < 0 ? NULL : buffer_extend(buffer, (size_t)size + 1);
    if (room) {
        vsnprintf(room, (size_t)size + 1, format, again);
        buffer->size--;
    }
    va_end(again);
}

void buffer_consume(struct buffer *buffer, size_t size)
{
    INVARIANT(size <= buffer->size);
    if (size == 0)
        return;
    memmove(buffer->data, buffer->data + size, buffer->size - size);
    buffer->size -= size;
}
