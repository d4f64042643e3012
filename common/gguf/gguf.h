/* gguf.h - a GGUF v2 or v3 file, mapped read-only and checked in full before use.
 *
 * Layer:   common/gguf (needs common/os for the mapping).
 * Source:  the GGUF specification (ggml/docs/gguf.md): header, metadata, tensor table,
 *          data.
 * Owner:   the gguf owns its mapping; every span and pointer given out borrows from it
 *          and dies with gguf_close.
 * Checks:  magic, version, counts and lengths against the bytes left, types, duplicate
 *          keys and tensors, dimensions and their product, block-size multiples,
 *          alignment, offsets, overlaps, the end of every tensor against the file's size.
 * Errors:  STATUS_IO, STATUS_CORRUPT, STATUS_UNSUPPORTED; the sentence names file, key or
 *          tensor, what was found and what was expected.
 * Thread:  read-only after open; any number of threads may ask.
 */
#ifndef ROPEWAY_COMMON_GGUF_GGUF_H
#define ROPEWAY_COMMON_GGUF_GGUF_H

#include "common/base/span.h"
#include "common/base/status.h"
#include "common/gguf/gguf_type.h"
#include <stdbool.h>
#include <stdint.h>

#define GGUF_DIMENSIONS_MAX 4

enum gguf_value_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_VALUE_TYPES
};

struct gguf_array {
    enum gguf_value_type type; /* of the elements */
    uint64_t count;
    uint64_t size_bytes;
    const void *data; /* elements, little-endian, maybe unaligned; or strings */
};

struct gguf_tensor {
    struct span name;
    uint32_t type; /* enum gguf_tensor_type; only types of the table in gguf_type.h */
    uint32_t dimensions_count;
    uint64_t dimensions[GGUF_DIMENSIONS_MAX]; /* [0] runs fastest; missing ones are 1 */
    const void *data;
    uint64_t size_bytes;
};

struct gguf;

enum status gguf_open(struct gguf **gguf, const char *path, struct fault *fault);

/* The same for a file's bytes that lie in memory, which the caller keeps until the close.
 * name stands for the path in sentences. */
enum status gguf_open_bytes(struct gguf **gguf, const char *name, const void *data,
                            uint64_t size_bytes, struct fault *fault);
void gguf_close(struct gguf *gguf);

const char *gguf_path(const struct gguf *gguf);
uint64_t gguf_file_bytes(const struct gguf *gguf);

/* SHA-256 over the metadata, the tensor table, the file's size and evenly spaced samples
 * of the data: the identity of the weights, cheap enough for every start. */
void gguf_identity(const struct gguf *gguf, uint8_t digest[32]);

uint64_t gguf_tensors_count(const struct gguf *gguf);
const struct gguf_tensor *gguf_tensor_at(const struct gguf *gguf, uint64_t index);
/* NULL when there is none of that name. */
const struct gguf_tensor *gguf_find_tensor(const struct gguf *gguf, const char *name);

bool gguf_has(const struct gguf *gguf, const char *key);

/* Each returns STATUS_NOT_FOUND where the key is absent (value untouched, fault filled)
 * and STATUS_CORRUPT where it has another type or does not fit. u32 accepts every integer
 * type whose value fits; f32 accepts F32 and F64. */
enum status gguf_get_u32(const struct gguf *gguf, const char *key, uint32_t *value,
                         struct fault *fault);
enum status gguf_get_f32(const struct gguf *gguf, const char *key, float *value,
                         struct fault *fault);
enum status gguf_get_bool(const struct gguf *gguf, const char *key, bool *value,
                          struct fault *fault);
enum status gguf_get_string(const struct gguf *gguf, const char *key, struct span *value,
                            struct fault *fault);
enum status gguf_get_array(const struct gguf *gguf, const char *key,
                           enum gguf_value_type type, struct gguf_array *value,
                           struct fault *fault);

/* Walks a string array: set *cursor to 0 first; false at the end. */
bool gguf_next_string(const struct gguf_array *array, uint64_t *cursor,
                      struct span *value);

/* Element index of a fixed-size array, widened. */
uint32_t gguf_array_u32(const struct gguf_array *array, uint64_t index);
float gguf_array_f32(const struct gguf_array *array, uint64_t index);

#endif
