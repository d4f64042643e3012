#include "frontend/core/json_text.h"

#include "common/text/utf8.h"
#include <math.h>
#include <stdint.h>

static void append_escape(struct buffer *out, unsigned char byte)
{
    switch (byte) {
    case '"':
        buffer_append_text(out, "\\\"");
        break;
    case '\\':
        buffer_append_text(out, "\\\\");
        break;
    case '\n':
        buffer_append_text(out, "\\n");
        break;
    case '\r':
        buffer_append_text(out, "\\r");
        break;
    case '\t':
        buffer_append_text(out, "\\t");
        break;
    default:
        buffer_append_format(out, "\\u%04x", byte);
    }
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

/* Appends one character, or its replacement, and returns the bytes taken. */
static size_t append_character(struct buffer *out, struct span text)
{
    unsigned char byte = (unsigned char)text.data[0];
    if (byte < 0x80) {
        append_escape(out, byte);
        return 1;
    }
    struct utf8_step step = utf8_next(text);
    if (step.kind == UTF8_WHOLE)
        buffer_append(out, text.data, step.size);
    else
        buffer_append_span(out, UTF8_REPLACEMENT);
    return step.size;
}

void json_text_string(struct buffer *out, struct span text)
{
    buffer_append_byte(out, '"');
    size_t at = 0;
    while (at < text.size) {
        size_t plain = at;
        while (plain < text.size && is_plain((unsigned char)text.data[plain]))
            plain++;
        buffer_append(out, text.data + at, plain - at);
        at = plain;
        if (at < text.size)
            at += append_character(out, (struct span){text.data + at, text.size - at});
    }
    buffer_append_byte(out, '"');
}

void json_text_number(struct buffer *out, double value)
{
    if (isfinite(value))
        buffer_append_format(out, "%.9g", value);
    else
        buffer_append_text(out, "null");
}

void json_text_key(struct buffer *out, const char *name)
{
    buffer_append_format(out, "\"%s\":", name);
}

void json_text_bytes(struct buffer *out, struct span bytes)
{
    buffer_append_byte(out, '[');
    for (size_t at = 0; at < bytes.size; at++)
        buffer_append_format(out, at ? ",%u" : "%u", (unsigned)(uint8_t)bytes.data[at]);
    buffer_append_byte(out, ']');
}
