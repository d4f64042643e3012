/* gguf_values.h - the metadata of a GGUF file: keys and typed values.
 *
 * A value's bytes stay in the file; an entry says where they are and what they are.
 * Entries are sorted by key, so that one pass finds duplicates and look-ups are binary
 * searches.
 */
#ifndef ROPEWAY_COMMON_GGUF_GGUF_VALUES_H
#define ROPEWAY_COMMON_GGUF_GGUF_VALUES_H

#include "common/gguf/gguf.h"
#include "common/gguf/gguf_reader.h"

struct gguf_entry {
    struct span key;
    enum gguf_value_type type;
    enum gguf_value_type element_type; /* of an array */
    uint64_t count;                    /* of an array's elements, or a string's bytes */
    uint64_t size_bytes;               /* of the value's bytes at data */
    const uint8_t *data;
};

struct gguf_values {
    struct gguf_entry *entries;
    uint64_t count;
};

/* Reads count entries at the reader's place. On failure nothing needs to be freed. */
enum status gguf_values_read(struct gguf_values *values, struct gguf_reader *reader,
                             uint64_t count);
void gguf_values_free(struct gguf_values *values);

/* NULL when there is none of that key. */
const struct gguf_entry *gguf_values_find(const struct gguf_values *values,
                                          const char *key);

/* The value of an integer entry of any width; false when it is no integer of 63 bits. */
bool gguf_entry_integer(const struct gguf_entry *entry, int64_t *value);

const char *gguf_value_type_name(enum gguf_value_type type);

#endif
