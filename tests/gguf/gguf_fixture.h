/* gguf_fixture.h - GGUF bytes at the edge of readable memory, and what opening them says.
 */
#ifndef ROPEWAY_TESTS_GGUF_GGUF_FIXTURE_H
#define ROPEWAY_TESTS_GGUF_GGUF_FIXTURE_H

#include "common/gguf/gguf.h"
#include "tools/tiny/gguf_writer.h"

#define FIXTURE_NAME "model.gguf"

/* Bytes whose end is the end of a page; reading one more is a fault. */
struct guarded {
    uint8_t *data;
    size_t size;
    void *map;
    size_t map_bytes;
};
void guarded_init(struct guarded *guarded, const void *bytes, size_t size);
void guarded_fini(struct guarded *guarded);

/* Opens a guarded copy of bytes; closes it again where that succeeded. */
enum status fixture_try(const void *bytes, size_t size, struct fault *fault);

/* The writer's file must open, or be refused with this status and these words. */
void fixture_accepts(const struct gguf_writer *writer);
void fixture_refuses(const struct gguf_writer *writer, enum status status,
                     const char *words);

/* A table entry as it is: dimensions_count numbers are written, whatever the header says
 * of them. */
void fixture_tensor(struct gguf_writer *writer, const char *name, uint32_t dimensions,
                    const uint64_t *numbers, uint32_t numbers_count, uint32_t type,
                    uint64_t offset);

/* A small good file: a key of each kind, an F32 tensor of 8 x 2 and a Q8_0 one of 32. */
void fixture_good(struct gguf_writer *writer);

#endif
