#include "tools/tiny/gguf_writer.h"

#define PART_BYTES_MAX (64u << 20)

void gguf_writer_init(struct gguf_writer *writer)
{
    *writer = (struct gguf_writer){.version = 3, .alignment = 32};
    buffer_init(&writer->metadata, PART_BYTES_MAX);
    buffer_init(&writer->table, PART_BYTES_MAX);
    buffer_init(&writer->data, PART_BYTES_MAX);
}

void gguf_writer_fini(struct gguf_writer *writer)
{
    buffer_fini(&writer->metadata);
    buffer_fini(&writer->table);
    buffer_fini(&writer->data);
}

void gguf_write_u32(struct buffer *buffer, uint32_t value)
{
    buffer_append(buffer, &value, sizeof value);
}

void gguf_write_u64(struct buffer *buffer, uint64_t value)
{
    buffer_append(buffer, &value, sizeof value);
}

void gguf_write_string(struct buffer *buffer, struct span value)
{
    gguf_write_u64(buffer, value.size);
    buffer_append_span(buffer, value);
}

void gguf_writer_key(struct gguf_writer *writer, const char *key, uint32_t type)
{
    writer->keys_count++;
    gguf_write_string(&writer->metadata, span_of(key));
    gguf_write_u32(&writer->metadata, type);
}

void gguf_writer_array(struct gguf_writer *writer, const char *key, uint32_t type,
                       uint64_t count)
{
    gguf_writer_key(writer, key, GGUF_ARRAY);
    gguf_write_u32(&writer->metadata, type);
    gguf_write_u64(&writer->metadata, count);
}

void gguf_writer_u32(struct gguf_writer *writer, const char *key, uint32_t value)
{
    gguf_writer_key(writer, key, GGUF_U32);
    gguf_write_u32(&writer->metadata, value);
}

void gguf_writer_f32(struct gguf_writer *writer, const char *key, float value)
{
    gguf_writer_key(writer, key, GGUF_F32);
    buffer_append(&writer->metadata, &value, sizeof value);
}

void gguf_writer_bool(struct gguf_writer *writer, const char *key, bool value)
{
    gguf_writer_key(writer, key, GGUF_BOOL);
    buffer_append_byte(&writer->metadata, value);
}

void gguf_writer_string(struct gguf_writer *writer, const char *key, const char *value)
{
    gguf_writer_key(writer, key, GGUF_STRING);
    gguf_write_string(&writer->metadata, span_of(value));
}

static void pad(struct buffer *buffer, uint32_t alignment)
{
    while (buffer->size % alignment != 0 && !buffer->failed)
        buffer_append_byte(buffer, 0);
}

void gguf_writer_tensor(struct gguf_writer *writer, const char *name, uint32_t type,
                        uint64_t columns, uint64_t rows)
{
    pad(&writer->data, writer->alignment);
    writer->tensors_count++;
    gguf_write_string(&writer->table, span_of(name));
    gguf_write_u32(&writer->table, rows > 0 ? 2 : 1);
    gguf_write_u64(&writer->table, columns);
    if (rows > 0)
        gguf_write_u64(&writer->table, rows);
    gguf_write_u32(&writer->table, type);
    gguf_write_u64(&writer->table, writer->data.size);
}

void gguf_writer_finish(const struct gguf_writer *writer, struct buffer *file)
{
    buffer_append_text(file, "GGUF");
    gguf_write_u32(file, writer->version);
    gguf_write_u64(file, writer->tensors_count);
    gguf_write_u64(file, writer->keys_count);
    buffer_append_span(file, buffer_span(&writer->metadata));
    buffer_append_span(file, buffer_span(&writer->table));
    pad(file, writer->alignment);
    buffer_append_span(file, buffer_span(&writer->data));
    file->failed |=
        writer->metadata.failed || writer->table.failed || writer->data.failed;
}
