#include "common/gguf/gguf_tensors.h"

#include "common/base/names.h"
#include <stdlib.h>

/* Layout of the table's entries and of the data behind them:
 *
 *   name (u64 length, bytes)  n (u32)  dimensions (n x u64)  format (u32)  offset (u64)
 *   ... padding to the alignment ... data; offsets count from here
 */

/* More than any model has, and little enough for a hostile file to cost nothing. */
#define TENSORS_MAX 65536
/* The specification allows 64; some writers are generous. */
#define NAME_BYTES_MAX 255
/* The least that an entry takes: one byte of name, one dimension. */
#define ENTRY_BYTES_LEAST (8 + 1 + 4 + 8 + 4 + 8)

#define TYPE_NAMES_BYTES 256

typedef unsigned long long wide; /* for %llu */

/* What one tensor's checks need. */
struct placing {
    struct gguf_reader *reader;
    struct gguf_tensor *tensor;
    uint64_t offset; /* as in the file: from the start of the data section */
};

static bool tensor_is_wrong(const struct gguf_reader *reader,
                            const struct gguf_tensor *tensor, const char *what,
                            uint64_t value)
{
    fault_set(reader->fault, STATUS_CORRUPT, NULL,
              "%s: tensor '%s' %s %llu; the file is damaged", reader->path,
              gguf_label(tensor->name).text, what, (wide)value);
    return false;
}

static bool read_dimensions(struct gguf_reader *reader, struct gguf_tensor *tensor)
{
    if (!gguf_reader_u32(reader, &tensor->dimensions_count))
        return false;
    if (tensor->dimensions_count < 1 || tensor->dimensions_count > GGUF_DIMENSIONS_MAX)
        return tensor_is_wrong(reader, tensor, "must have 1 to 4 dimensions, not",
                               tensor->dimensions_count);
    for (uint32_t i = 0; i < GGUF_DIMENSIONS_MAX; i++)
        tensor->dimensions[i] = 1;
    for (uint32_t i = 0; i < tensor->dimensions_count; i++) {
        if (!gguf_reader_u64(reader, &tensor->dimensions[i]))
            return false;
        if (tensor->dimensions[i] == 0)
            return tensor_is_wrong(reader, tensor, "has an empty dimension, number", i);
    }
    return true;
}

/* Sets size_bytes from format and dimensions. */
static bool measure(struct gguf_reader *reader, struct gguf_tensor *tensor)
{
    const struct gguf_type *type = gguf_type_find(tensor->type);
    char names[TYPE_NAMES_BYTES];
    if (!type) {
        fault_set(reader->fault, STATUS_UNSUPPORTED, NULL,
                  "%s: tensor '%s' has format number %u, which ropeway does not read; "
                  "take a file in one of %s",
                  reader->path, gguf_label(tensor->name).text, tensor->type,
                  names_join(gguf_type_name_at, names, sizeof names));
        return false;
    }
    if (tensor->dimensions[0] % type->block_elements != 0)
        return tensor_is_wrong(reader, tensor,
                               "has rows that are no whole blocks: their length is",
                               tensor->dimensions[0]);
    uint64_t size_bytes = tensor->dimensions[0] / type->block_elements;
    bool overflow = __builtin_mul_overflow(size_bytes, type->block_bytes, &size_bytes);
    for (uint32_t i = 1; i < GGUF_DIMENSIONS_MAX; i++)
        overflow |=
            __builtin_mul_overflow(size_bytes, tensor->dimensions[i], &size_bytes);
    if (overflow)
        return tensor_is_wrong(reader, tensor,
                               "is larger than any file: its rows have the length",
                               tensor->dimensions[0]);
    tensor->size_bytes = size_bytes;
    return true;
}

static bool read_tensor(struct placing *placing)
{
    struct gguf_reader *reader = placing->reader;
    struct gguf_tensor *tensor = placing->tensor;
    if (!gguf_reader_string(reader, &tensor->name))
        return false;
    if (tensor->name.size == 0 || tensor->name.size > NAME_BYTES_MAX)
        return tensor_is_wrong(reader, tensor, "must have a name of 1 to 255 bytes, not",
                               tensor->name.size);
    return read_dimensions(reader, tensor) && gguf_reader_u32(reader, &tensor->type) &&
           gguf_reader_u64(reader, &placing->offset) && measure(reader, tensor);
}

/* Turns the offset into a pointer, once the start of the data is known. */
static bool place(const struct placing *placing, uint64_t data_start, uint32_t alignment)
{
    const struct gguf_reader *reader = placing->reader;
    struct gguf_tensor *tensor = placing->tensor;
    uint64_t end;
    if (placing->offset % alignment != 0)
        return tensor_is_wrong(reader, tensor, "is not aligned: its offset is",
                               placing->offset);
    if (__builtin_add_overflow(data_start, placing->offset, &end) ||
        __builtin_add_overflow(end, tensor->size_bytes, &end))
        return tensor_is_wrong(reader, tensor,
                               "has an offset past any file:", placing->offset);
    if (end > reader->size_bytes) {
        fault_set(
            reader->fault, STATUS_CORRUPT, NULL,
            "%s: tensor '%s' ends at byte %llu but the file has %llu bytes; it may be "
            "cut off, fetch it again",
            reader->path, gguf_label(tensor->name).text, (wide)end,
            (wide)reader->size_bytes);
        return false;
    }
    tensor->data = reader->data + data_start + placing->offset;
    return true;
}

static int compare_names(const void *a, const void *b)
{
    struct span x = ((const struct gguf_tensor_reference *)a)->tensor->name;
    struct span y = ((const struct gguf_tensor_reference *)b)->tensor->name;
    int order = memcmp(x.data, y.data, x.size < y.size ? x.size : y.size);
    return order != 0 ? order : (x.size > y.size) - (x.size < y.size);
}

static int compare_places(const void *a, const void *b)
{
    const uint8_t *x = ((const struct gguf_tensor_reference *)a)->tensor->data;
    const uint8_t *y = ((const struct gguf_tensor_reference *)b)->tensor->data;
    return (x > y) - (x < y);
}

/* Says what is wrong with a tensor at its place in the file. */
static bool place_is_wrong(const struct gguf_reader *reader,
                           const struct gguf_tensor *tensor, const char *what)
{
    uint64_t at = (uint64_t)((const uint8_t *)tensor->data - reader->data);
    return tensor_is_wrong(reader, tensor, what, at);
}

/* Two orders of the same pointers show what no tensor shows alone. Leaves them by name.
 */
static bool check_pairs(const struct gguf_reader *reader, struct gguf_tensors *tensors)
{
    struct gguf_tensor_reference *order = tensors->by_name;
    qsort(order, tensors->count, sizeof *order, compare_places);
    for (uint64_t i = 1; i < tensors->count; i++) {
        const uint8_t *end =
            (const uint8_t *)order[i - 1].tensor->data + order[i - 1].tensor->size_bytes;
        if (end > (const uint8_t *)order[i].tensor->data)
            return place_is_wrong(reader, order[i].tensor,
                                  "overlaps another one at byte");
    }
    qsort(order, tensors->count, sizeof *order, compare_names);
    for (uint64_t i = 1; i < tensors->count; i++)
        if (span_equal(order[i - 1].tensor->name, order[i].tensor->name))
            return place_is_wrong(reader, order[i].tensor,
                                  "is there twice, once more at byte");
    return true;
}

/* Reads the table, finds the start of the data, places and compares. */
static bool read_all(struct gguf_reader *reader, struct gguf_tensors *tensors,
                     uint64_t *offsets, uint32_t alignment)
{
    for (uint64_t i = 0; i < tensors->count; i++) {
        struct placing placing = {reader, &tensors->tensors[i], 0};
        if (!read_tensor(&placing))
            return false;
        offsets[i] = placing.offset;
        tensors->by_name[i].tensor = placing.tensor;
    }
    /* Cannot overflow: the cursor is within the file, and alignments are small. */
    tensors->data_start = (reader->at + alignment - 1) / alignment * alignment;
    for (uint64_t i = 0; i < tensors->count; i++) {
        struct placing placing = {reader, &tensors->tensors[i], offsets[i]};
        if (!place(&placing, tensors->data_start, alignment))
            return false;
    }
    return check_pairs(reader, tensors);
}

enum status gguf_tensors_read(struct gguf_tensors *tensors, struct gguf_reader *reader,
                              uint64_t count, uint32_t alignment)
{
    *tensors = (struct gguf_tensors){.count = count};
    if (!gguf_reader_fits(reader, count, ENTRY_BYTES_LEAST))
        return reader->fault->status;
    if (count > TENSORS_MAX)
        return fault_set(reader->fault, STATUS_UNSUPPORTED, NULL,
                         "%s: has %llu tensors; at most %d are read", reader->path,
                         (wide)count, TENSORS_MAX);
    tensors->tensors = calloc(count + 1, sizeof *tensors->tensors);
    tensors->by_name = calloc(count + 1, sizeof *tensors->by_name);
    uint64_t *offsets = calloc(count + 1, sizeof *offsets);
    bool memory = tensors->tensors && tensors->by_name && offsets;
    if (!memory)
        fault_set(reader->fault, STATUS_NO_SPACE, NULL, "%s: no memory for %llu tensors",
                  reader->path, (wide)count);
    bool good = memory && read_all(reader, tensors, offsets, alignment);
    free(offsets);
    if (good)
        return STATUS_OK;
    gguf_tensors_free(tensors);
    return reader->fault->status;
}

void gguf_tensors_free(struct gguf_tensors *tensors)
{
    free(tensors->tensors);
    free(tensors->by_name);
    *tensors = (struct gguf_tensors){0};
}

const struct gguf_tensor *gguf_tensors_find(const struct gguf_tensors *tensors,
                                            const char *name)
{
    const struct gguf_tensor wanted = {.name = span_of(name)};
    const struct gguf_tensor_reference key = {&wanted};
    const struct gguf_tensor_reference *found = bsearch(
        &key, tensors->by_name, tensors->count, sizeof *tensors->by_name, compare_names);
    return found ? found->tensor : NULL;
}
