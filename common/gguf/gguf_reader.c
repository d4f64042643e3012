#include "common/gguf/gguf_reader.h"

#include <stdio.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers of the file are read as they lie there");

static bool ends_early(struct gguf_reader *reader, uint64_t count, uint64_t size_bytes)
{
    fault_set(reader->fault, STATUS_CORRUPT, NULL,
              "%s: %s needs %llu x %llu bytes at byte %llu but the file has %llu bytes; "
              "it may be cut off, fetch it again",
              reader->path, reader->section, (unsigned long long)count,
              (unsigned long long)size_bytes, (unsigned long long)reader->at,
              (unsigned long long)reader->size_bytes);
    return false;
}

bool gguf_reader_fits(struct gguf_reader *reader, uint64_t count, uint64_t size_least)
{
    uint64_t left = reader->size_bytes - reader->at;
    return count <= left / size_least || ends_early(reader, count, size_least);
}

const uint8_t *gguf_reader_take(struct gguf_reader *reader, uint64_t size_bytes)
{
    if (!gguf_reader_fits(reader, size_bytes, 1))
        return NULL;
    const uint8_t *bytes = reader->data + reader->at;
    reader->at += size_bytes;
    return bytes;
}

bool gguf_reader_u32(struct gguf_reader *reader, uint32_t *value)
{
    const uint8_t *bytes = gguf_reader_take(reader, sizeof *value);
    if (bytes)
        memcpy(value, bytes, sizeof *value);
    return bytes != NULL;
}

bool gguf_reader_u64(struct gguf_reader *reader, uint64_t *value)
{
    const uint8_t *bytes = gguf_reader_take(reader, sizeof *value);
    if (bytes)
        memcpy(value, bytes, sizeof *value);
    return bytes != NULL;
}

bool gguf_reader_string(struct gguf_reader *reader, struct span *value)
{
    uint64_t size;
    if (!gguf_reader_u64(reader, &size))
        return false;
    const uint8_t *bytes = gguf_reader_take(reader, size);
    if (bytes)
        *value = (struct span){(const char *)bytes, (size_t)size};
    return bytes != NULL;
}

struct gguf_label gguf_label(struct span name)
{
    struct gguf_label label;
    size_t shown = name.size < sizeof label.text ? name.size : sizeof label.text - 1;
    for (size_t i = 0; i < shown; i++)
        label.text[i] = name.data[i] >= ' ' && name.data[i] <= '~' ? name.data[i] : '?';
    label.text[shown] = '\0';
    if (shown < name.size)
        memcpy(label.text + shown - 3, "...", 3);
    return label;
}
