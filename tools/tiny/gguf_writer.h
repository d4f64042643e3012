/* gguf_writer.h - puts a small GGUF v3 file together in memory.
 *
 * For the tiny model and for tests, so nothing is checked: a test may write what no
 * reader should accept, also by touching the three buffers and the counts itself.
 *
 * File:  header | metadata | table | padding | data
 */
#ifndef ROPEWAY_TOOLS_TINY_GGUF_WRITER_H
#define ROPEWAY_TOOLS_TINY_GGUF_WRITER_H

#include "common/base/buffer.h"
#include "common/gguf/gguf.h"

struct gguf_writer {
    uint32_t version;
    uint32_t alignment; /* written as general.alignment only when the caller does so */
    uint64_t keys_count, tensors_count;
    struct buffer metadata, table, data;
};

void gguf_writer_init(struct gguf_writer *writer);
void gguf_writer_fini(struct gguf_writer *writer);

/* --- pieces ------------------------------------------------------------------------- */
void gguf_write_u32(struct buffer *buffer, uint32_t value);
void gguf_write_u64(struct buffer *buffer, uint64_t value);
void gguf_write_string(struct buffer *buffer, struct span value);

/* --- metadata ----------------------------------------------------------------------- */
/* The key and its type; the caller appends the value to writer->metadata. */
void gguf_writer_key(struct gguf_writer *writer, const char *key, uint32_t type);
/* The same for an array of count elements. */
void gguf_writer_array(struct gguf_writer *writer, const char *key, uint32_t type,
                       uint64_t count);
void gguf_writer_u32(struct gguf_writer *writer, const char *key, uint32_t value);
void gguf_writer_f32(struct gguf_writer *writer, const char *key, float value);
void gguf_writer_bool(struct gguf_writer *writer, const char *key, bool value);
void gguf_writer_string(struct gguf_writer *writer, const char *key, const char *value);

/* --- tensors ------------------------------------------------------------------------ */
/* A table entry of columns x rows, or of one dimension where rows is 0, at the end of the
 * data so far, which is padded first; the caller appends the tensor's bytes to data. */
void gguf_writer_tensor(struct gguf_writer *writer, const char *name, uint32_t type,
                        uint64_t columns, uint64_t rows);

/* The whole file into file, which is empty and has room enough in its bound. */
void gguf_writer_finish(const struct gguf_writer *writer, struct buffer *file);

#endif
