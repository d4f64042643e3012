#include "common/gguf/gguf.h"

#include "common/base/invariant.h"
#include "common/gguf/gguf_internal.h"

bool gguf_has(const struct gguf *gguf, const char *key)
{
    return gguf_values_find(&gguf->values, key) != NULL;
}

/* The entry of key, or NULL and a fault. */
static const struct gguf_entry *find(const struct gguf *gguf, const char *key,
                                     struct fault *fault)
{
    const struct gguf_entry *entry = gguf_values_find(&gguf->values, key);
    if (!entry)
        fault_set(fault, STATUS_NOT_FOUND, NULL, "%s: key '%s' is missing", gguf->path,
                  key);
    return entry;
}

static enum status wrong_type(const struct gguf *gguf, const struct gguf_entry *entry,
                              const char *wanted, struct fault *fault)
{
    bool array = entry->type == GGUF_ARRAY;
    return fault_set(fault, STATUS_CORRUPT, NULL, "%s: key '%s' is of type %s%s, not %s",
                     gguf->path, gguf_label(entry->key).text, array ? "array of " : "",
                     gguf_value_type_name(array ? entry->element_type : entry->type),
                     wanted);
}

enum status gguf_get_u32(const struct gguf *gguf, const char *key, uint32_t *value,
                         struct fault *fault)
{
    const struct gguf_entry *entry = find(gguf, key, fault);
    if (!entry)
        return fault->status;
    int64_t integer;
    if (!gguf_entry_integer(entry, &integer))
        return wrong_type(gguf, entry, "an integer", fault);
    if (integer < 0 || integer > UINT32_MAX)
        return fault_set(fault, STATUS_CORRUPT, NULL,
                         "%s: key '%s' is %lld, which is no number of 32 bits",
                         gguf->path, key, (long long)integer);
    *value = (uint32_t)integer;
    return STATUS_OK;
}

enum status gguf_get_f32(const struct gguf *gguf, const char *key, float *value,
                         struct fault *fault)
{
    const struct gguf_entry *entry = find(gguf, key, fault);
    if (!entry)
        return fault->status;
    double number;
    if (entry->type == GGUF_F32) {
        memcpy(value, entry->data, sizeof *value);
    } else if (entry->type == GGUF_F64) {
        memcpy(&number, entry->data, sizeof number);
        *value = (float)number;
    } else {
        return wrong_type(gguf, entry, "f32", fault);
    }
    return STATUS_OK;
}

enum status gguf_get_bool(const struct gguf *gguf, const char *key, bool *value,
                          struct fault *fault)
{
    const struct gguf_entry *entry = find(gguf, key, fault);
    if (!entry)
        return fault->status;
    if (entry->type != GGUF_BOOL)
        return wrong_type(gguf, entry, "bool", fault);
    *value = entry->data[0] != 0;
    return STATUS_OK;
}

enum status gguf_get_string(const struct gguf *gguf, const char *key, struct span *value,
                            struct fault *fault)
{
    const struct gguf_entry *entry = find(gguf, key, fault);
    if (!entry)
        return fault->status;
    if (entry->type != GGUF_STRING)
        return wrong_type(gguf, entry, "string", fault);
    *value = (struct span){(const char *)entry->data, entry->size_bytes};
    return STATUS_OK;
}

enum status gguf_get_array(const struct gguf *gguf, const char *key,
                           enum gguf_value_type type, struct gguf_array *value,
                           struct fault *fault)
{
    const struct gguf_entry *entry = find(gguf, key, fault);
    if (!entry)
        return fault->status;
    if (entry->type != GGUF_ARRAY || entry->element_type != type)
        return fault_set(fault, STATUS_CORRUPT, NULL,
                         "%s: key '%s' is not an array of type %s", gguf->path, key,
                         gguf_value_type_name(type));
    *value = (struct gguf_array){type, entry->count, entry->size_bytes, entry->data};
    return STATUS_OK;
}

/* The cursor is the offset of the next string; lengths were checked when the file was
 * opened. */
bool gguf_next_string(const struct gguf_array *array, uint64_t *cursor,
                      struct span *value)
{
    INVARIANT(array->type == GGUF_STRING);
    if (*cursor >= array->size_bytes)
        return false;
    const char *at = (const char *)array->data + *cursor;
    uint64_t size;
    memcpy(&size, at, sizeof size);
    *value = (struct span){at + sizeof size, (size_t)size};
    *cursor += sizeof size + size;
    return true;
}

/* The element's bits, zero-extended. */
static uint64_t element_bits(const struct gguf_array *array, uint64_t index)
{
    INVARIANT(index < array->count);
    uint64_t bits = 0, size_bytes = array->size_bytes / array->count;
    INVARIANT(size_bytes <= sizeof bits);
    memcpy(&bits, (const char *)array->data + index * size_bytes, size_bytes);
    return bits;
}

uint32_t gguf_array_u32(const struct gguf_array *array, uint64_t index)
{
    INVARIANT(array->type <= GGUF_I32 || array->type == GGUF_BOOL);
    uint64_t bits = element_bits(array, index);
    switch (array->type) {
    case GGUF_I8:
        return (uint32_t)(int8_t)bits;
    case GGUF_I16:
        return (uint32_t)(int16_t)bits;
    default:
        return (uint32_t)bits;
    }
}

float gguf_array_f32(const struct gguf_array *array, uint64_t index)
{
    INVARIANT(array->type == GGUF_F32);
    uint32_t bits = (uint32_t)element_bits(array, index);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
