/* gguf_reader.h - a cursor over a GGUF file's bytes that never leaves them.
 *
 * Every length and count of the file is compared with the bytes left before it is used,
 * so no value of the file can cause a read outside it, a large allocation or a long loop.
 * A failed take fills the fault once, with the place and what was being read there.
 */
#ifndef ROPEWAY_COMMON_GGUF_GGUF_READER_H
#define ROPEWAY_COMMON_GGUF_GGUF_READER_H

#include "common/base/span.h"
#include "common/base/status.h"
#include <stdbool.h>
#include <stdint.h>

struct gguf_reader {
    const char *path;
    const uint8_t *data;
    uint64_t size_bytes;
    uint64_t at;
    const char *section; /* "the metadata": for sentences */
    struct fault *fault;
};

/* The bytes at the cursor, which moves past them; NULL and a fault when fewer are left.
 */
const uint8_t *gguf_reader_take(struct gguf_reader *reader, uint64_t size_bytes);

bool gguf_reader_u32(struct gguf_reader *reader, uint32_t *value);
bool gguf_reader_u64(struct gguf_reader *reader, uint64_t *value);

/* A length of 64 bits and that many bytes. */
bool gguf_reader_string(struct gguf_reader *reader, struct span *value);

/* True when count things of at least size_least bytes each can still come. */
bool gguf_reader_fits(struct gguf_reader *reader, uint64_t count, uint64_t size_least);

/* A name of the file for a sentence: cut where long, and free of control characters. */
struct gguf_label {
    char text[72];
};
struct gguf_label gguf_label(struct span name);

#endif
