#include "tools/bench/sse_reader.h"

void sse_reader_init(struct sse_reader *reader, sse_on_event *on_event, void *context)
{
    memset(reader, 0, sizeof *reader);
    buffer_init(&reader->line, SSE_EVENT_BYTES_MAX);
    buffer_init(&reader->data, SSE_EVENT_BYTES_MAX);
    reader->on_event = on_event;
    reader->context = context;
}

void sse_reader_fini(struct sse_reader *reader)
{
    buffer_fini(&reader->line);
    buffer_fini(&reader->data);
}

void sse_reader_reset(struct sse_reader *reader)
{
    buffer_clear(&reader->line);
    buffer_clear(&reader->data);
    reader->has_data = reader->after_cr = false;
}

static void end_event(struct sse_reader *reader)
{
    if (reader->has_data && !reader->data.failed)
        reader->on_event(reader->context, buffer_span(&reader->data));
    buffer_clear(&reader->data);
    reader->has_data = false;
}

static void end_line(struct sse_reader *reader)
{
    static const char field[] = "data";
    struct span line = buffer_span(&reader->line);
    if (line.size == 0) {
        end_event(reader);
        return;
    }
    const char *colon = memchr(line.data, ':', line.size);
    size_t name_size = colon != NULL ? (size_t)(colon - line.data) : line.size;
    if (name_size == sizeof field - 1 && memcmp(line.data, field, name_size) == 0) {
        size_t skip = colon != NULL ? name_size + 1 : name_size;
        if (skip < line.size && line.data[skip] == ' ')
            skip++;
        if (reader->has_data)
            buffer_append_byte(&reader->data, '\n');
        buffer_append(&reader->data, line.data + skip, line.size - skip);
        reader->has_data = true;
    }
    reader->line.size = 0;
}

bool sse_reader_push(struct sse_reader *reader, struct span bytes)
{
    size_t at = 0;
    while (at < bytes.size && !reader->line.failed && !reader->data.failed) {
        if (reader->after_cr && bytes.data[at] == '\n') {
            reader->after_cr = false;
            at++;
            continue;
        }
        reader->after_cr = false;
        size_t end = at;
        while (end < bytes.size && bytes.data[end] != '\n' && bytes.data[end] != '\r')
            end++;
        buffer_append(&reader->line, bytes.data + at, end - at);
        if (end < bytes.size) {
            reader->after_cr = bytes.data[end] == '\r';
            end_line(reader);
            end++;
        }
        at = end;
    }
    return !reader->line.failed && !reader->data.failed;
}
