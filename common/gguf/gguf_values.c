#include "common/gguf/gguf_values.h"

#include <stdlib.h>

/* More than any model has, and little enough for a hostile file to cost nothing. */
#define ENTRIES_MAX 65536
/* The specification's bound. */
#define KEY_BYTES_MAX 65535
/* No known model nests arrays; a few levels are read so that they can be ignored. */
#define ARRAY_DEPTH_MAX 4
/* The least that an entry takes: length and one byte of key, type, one byte of value. */
#define ENTRY_BYTES_LEAST (8 + 1 + 4 + 1)
/* The least that an element takes: a string's length; an array's type and count. */
#define STRING_BYTES_LEAST 8
#define ARRAY_BYTES_LEAST  (4 + 8)

struct value_type {
    const char *name;
    uint32_t size_bytes; /* 0: not fixed */
};

static const struct value_type value_types[GGUF_VALUE_TYPES] = {
    [GGUF_U8] = {"u8", 1},       [GGUF_I8] = {"i8", 1},     [GGUF_U16] = {"u16", 2},
    [GGUF_I16] = {"i16", 2},     [GGUF_U32] = {"u32", 4},   [GGUF_I32] = {"i32", 4},
    [GGUF_F32] = {"f32", 4},     [GGUF_BOOL] = {"bool", 1}, [GGUF_STRING] = {"string", 0},
    [GGUF_ARRAY] = {"array", 0}, [GGUF_U64] = {"u64", 8},   [GGUF_I64] = {"i64", 8},
    [GGUF_F64] = {"f64", 8},
};

const char *gguf_value_type_name(enum gguf_value_type type)
{
    return value_types[type].name;
}

static bool read_type(struct gguf_reader *reader, enum gguf_value_type *type)
{
    uint32_t number;
    uint64_t at = reader->at;
    if (!gguf_reader_u32(reader, &number))
        return false;
    if (number >= GGUF_VALUE_TYPES) {
        fault_set(
            reader->fault, STATUS_CORRUPT, NULL,
            "%s: %s has a value of unknown type %u at byte %llu; the file is damaged",
            reader->path, reader->section, number, (unsigned long long)at);
        return false;
    }
    *type = (enum gguf_value_type)number;
    return true;
}

static bool skip_elements(struct gguf_reader *reader, enum gguf_value_type type,
                          uint64_t count, int depth);

static bool skip_array(struct gguf_reader *reader, int depth)
{
    enum gguf_value_type type;
    uint64_t count;
    return read_type(reader, &type) && gguf_reader_u64(reader, &count) &&
           skip_elements(reader, type, count, depth);
}

static bool skip_strings(struct gguf_reader *reader, uint64_t count)
{
    struct span string;
    if (!gguf_reader_fits(reader, count, STRING_BYTES_LEAST))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!gguf_reader_string(reader, &string))
            return false;
    return true;
}

/* Moves past the elements of an array that lies depth arrays deep (the outermost: 1). */
static bool skip_elements(struct gguf_reader *reader, enum gguf_value_type type,
                          uint64_t count, int depth)
{
    uint32_t size_bytes = value_types[type].size_bytes;
    if (size_bytes > 0)
        return gguf_reader_fits(reader, count, size_bytes) &&
               gguf_reader_take(reader, count * size_bytes);
    if (type == GGUF_STRING)
        return skip_strings(reader, count);
    if (depth == ARRAY_DEPTH_MAX) {
        fault_set(reader->fault, STATUS_UNSUPPORTED, NULL,
                  "%s: %s nests arrays more than %d deep at byte %llu", reader->path,
                  reader->section, ARRAY_DEPTH_MAX, (unsigned long long)reader->at);
        return false;
    }
    if (!gguf_reader_fits(reader, count, ARRAY_BYTES_LEAST))
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (!skip_array(reader, depth + 1))
            return false;
    return true;
}

static bool read_array(struct gguf_reader *reader, struct gguf_entry *entry)
{
    if (!read_type(reader, &entry->element_type) ||
        !gguf_reader_u64(reader, &entry->count))
        return false;
    entry->data = reader->data + reader->at;
    uint64_t start = reader->at;
    if (!skip_elements(reader, entry->element_type, entry->count, 1))
        return false;
    entry->size_bytes = reader->at - start;
    return true;
}

static bool read_value(struct gguf_reader *reader, struct gguf_entry *entry)
{
    if (entry->type == GGUF_ARRAY)
        return read_array(reader, entry);
    entry->size_bytes = value_types[entry->type].size_bytes;
    if (entry->type == GGUF_STRING && !gguf_reader_u64(reader, &entry->size_bytes))
        return false;
    entry->count = entry->size_bytes;
    entry->data = gguf_reader_take(reader, entry->size_bytes);
    return entry->data != NULL;
}

static bool entry_is_wrong(struct gguf_reader *reader, const struct gguf_entry *entry,
                           const char *what)
{
    fault_set(reader->fault, STATUS_CORRUPT, NULL, "%s: key '%s' %s; the file is damaged",
              reader->path, gguf_label(entry->key).text, what);
    return false;
}

static bool read_entry(struct gguf_reader *reader, struct gguf_entry *entry)
{
    if (!gguf_reader_string(reader, &entry->key))
        return false;
    if (entry->key.size == 0 || entry->key.size > KEY_BYTES_MAX)
        return entry_is_wrong(reader, entry, "is not of 1 to 65535 bytes");
    if (!read_type(reader, &entry->type) || !read_value(reader, entry))
        return false;
    if (entry->type == GGUF_BOOL && entry->data[0] > 1)
        return entry_is_wrong(reader, entry, "is a bool that is neither 0 nor 1");
    return true;
}

static int compare_keys(struct span a, struct span b)
{
    size_t common = a.size < b.size ? a.size : b.size;
    int order = memcmp(a.data, b.data, common);
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_entries(const void *a, const void *b)
{
    return compare_keys(((const struct gguf_entry *)a)->key,
                        ((const struct gguf_entry *)b)->key);
}

static bool read_entries(struct gguf_reader *reader, struct gguf_values *values)
{
    for (uint64_t i = 0; i < values->count; i++)
        if (!read_entry(reader, &values->entries[i]))
            return false;
    qsort(values->entries, values->count, sizeof *values->entries, compare_entries);
    for (uint64_t i = 1; i < values->count; i++)
        if (compare_entries(&values->entries[i - 1], &values->entries[i]) == 0)
            return entry_is_wrong(reader, &values->entries[i], "is there twice");
    return true;
}

enum status gguf_values_read(struct gguf_values *values, struct gguf_reader *reader,
                             uint64_t count)
{
    *values = (struct gguf_values){.count = count};
    if (!gguf_reader_fits(reader, count, ENTRY_BYTES_LEAST))
        return reader->fault->status;
    if (count > ENTRIES_MAX)
        return fault_set(reader->fault, STATUS_UNSUPPORTED, NULL,
                         "%s: has %llu metadata keys; at most %d are read", reader->path,
                         (unsigned long long)count, ENTRIES_MAX);
    values->entries = calloc(count + 1, sizeof *values->entries);
    if (!values->entries)
        return fault_set(reader->fault, STATUS_NO_SPACE, NULL,
                         "%s: no memory for %llu metadata keys", reader->path,
                         (unsigned long long)count);
    if (read_entries(reader, values))
        return STATUS_OK;
    gguf_values_free(values);
    return reader->fault->status;
}

void gguf_values_free(struct gguf_values *values)
{
    free(values->entries);
    *values = (struct gguf_values){0};
}

const struct gguf_entry *gguf_values_find(const struct gguf_values *values,
                                          const char *key)
{
    struct gguf_entry wanted = {.key = span_of(key)};
    return bsearch(&wanted, values->entries, values->count, sizeof wanted,
                   compare_entries);
}

/* The number in the entry's bytes, widened by its type. */
bool gguf_entry_integer(const struct gguf_entry *entry, int64_t *value)
{
    uint64_t bits = 0;
    unsigned unused_bits = 64 - 8 * (unsigned)entry->size_bytes;
    switch (entry->type) {
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64:
        memcpy(&bits, entry->data, entry->size_bytes);
        *value = (int64_t)bits;
        return bits <= INT64_MAX;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64:
        memcpy(&bits, entry->data, entry->size_bytes);
        *value = (int64_t)(bits << unused_bits) >> unused_bits;
        return true;
    default:
        return false;
    }
}
