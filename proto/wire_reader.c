#include "proto/wire_reader.h"

/* First bytes of items: the specification's names and numbers. */
enum {
    FIXMAP = 0x80,
    FIXARRAY = 0x90,
    FIXSTR = 0xa0,
    FALSE_ITEM = 0xc2,
    TRUE_ITEM = 0xc3,
    BIN8 = 0xc4,
    FLOAT32 = 0xca,
    FLOAT64 = 0xcb,
    UINT8 = 0xcc,
    INT8 = 0xd0,
    STR8 = 0xd9,
    ARRAY16 = 0xdc,
    MAP16 = 0xde,
    NEGATIVE_FIXINT = 0xe0
};

static uint64_t left(const struct wire_reader *reader)
{
    return (uint64_t)(reader->end - reader->at);
}

/* A big-endian number of size bytes behind the first byte; false when it is cut. */
static bool peek_number(const struct wire_reader *reader, uint32_t size_bytes,
                        uint64_t *value)
{
    if (left(reader) < 1 + (uint64_t)size_bytes)
        return false;
    *value = 0;
    for (uint32_t i = 0; i < size_bytes; i++)
        *value = *value << 8 | reader->at[1 + i];
    return true;
}

/* A count in the first byte's low bits (those of fix_mask, under the first byte fix), or
 * in 2 or 4 bytes behind wide or wide + 1. */
static bool read_count(struct wire_reader *reader, unsigned char fix,
                       unsigned char fix_mask, unsigned char wide,
                       uint64_t bytes_per_item, uint32_t *count)
{
    uint64_t number;
    uint32_t size_bytes = 0;
    if (left(reader) == 0)
        return false;
    unsigned char first = *reader->at;
    if ((first & (unsigned char)~fix_mask) == fix)
        number = first & fix_mask;
    else if (first == wide || first == wide + 1)
        size_bytes = first == wide ? 2 : 4;
    else
        return false;
    if (size_bytes != 0 && !peek_number(reader, size_bytes, &number))
        return false;
    if (number * bytes_per_item > left(reader) - 1 - size_bytes)
        return false;
    reader->at += 1 + size_bytes;
    *count = (uint32_t)number;
    return true;
}

bool wire_read_map(struct wire_reader *reader, uint32_t *pairs_count)
{
    return read_count(reader, FIXMAP, 0x0f, MAP16, 2, pairs_count);
}

bool wire_read_array(struct wire_reader *reader, uint32_t *items_count)
{
    return read_count(reader, FIXARRAY, 0x0f, ARRAY16, 1, items_count);
}

/* A run of bytes with its length in 1, 2 or 4 bytes behind first8, + 1 and + 2. */
static bool read_run(struct wire_reader *reader, unsigned char first8, struct span *run)
{
    uint64_t size;
    unsigned char first = *reader->at;
    if (first < first8 || first > first8 + 2)
        return false;
    uint32_t size_bytes = 1u << (first - first8);
    if (!peek_number(reader, size_bytes, &size) || size > left(reader) - 1 - size_bytes)
        return false;
    *run = (struct span){(const char *)reader->at + 1 + size_bytes, (size_t)size};
    reader->at += 1 + size_bytes + size;
    return true;
}

bool wire_read_text(struct wire_reader *reader, struct span *text)
{
    if (left(reader) == 0)
        return false;
    if ((*reader->at & 0xe0) != FIXSTR)
        return read_run(reader, STR8, text);
    size_t size = *reader->at & 0x1f;
    if (size > left(reader) - 1)
        return false;
    *text = (struct span){(const char *)reader->at + 1, size};
    reader->at += 1 + size;
    return true;
}

bool wire_read_bytes(struct wire_reader *reader, struct span *bytes)
{
    return left(reader) > 0 && read_run(reader, BIN8, bytes);
}

bool wire_read_bool(struct wire_reader *reader, bool *value)
{
    if (left(reader) == 0 || (*reader->at != FALSE_ITEM && *reader->at != TRUE_ITEM))
        return false;
    *value = *reader->at++ == TRUE_ITEM;
    return true;
}

/* A two's complement number of size_bytes, as one of 8. */
static int64_t widen(uint64_t bits, uint32_t size_bytes)
{
    switch (size_bytes) {
    case 1:
        return (int8_t)bits;
    case 2:
        return (int16_t)bits;
    case 4:
        return (int32_t)bits;
    default:
        return (int64_t)bits;
    }
}

/* An integer as its 64 bits and whether it is negative. */
static bool read_integer(struct wire_reader *reader, uint64_t *bits, bool *is_negative)
{
    if (left(reader) == 0)
        return false;
    unsigned char first = *reader->at;
    uint32_t size_bytes = 0;
    if (first < FIXMAP) {
        *bits = first;
        *is_negative = false;
    } else if (first >= NEGATIVE_FIXINT) {
        *bits = (uint64_t)(int64_t)(int8_t)first;
        *is_negative = true;
    } else if (first >= UINT8 && first < INT8 + 4) {
        bool is_signed = first >= INT8;
        size_bytes = 1u << (first - (is_signed ? INT8 : UINT8));
        if (!peek_number(reader, size_bytes, bits))
            return false;
        int64_t widened = widen(*bits, size_bytes);
        *is_negative = is_signed && widened < 0;
        if (*is_negative)
            *bits = (uint64_t)widened;
    } else {
        return false;
    }
    reader->at += 1 + size_bytes;
    return true;
}

bool wire_read_u64(struct wire_reader *reader, uint64_t *value)
{
    struct wire_reader before = *reader;
    bool is_negative;
    if (read_integer(reader, value, &is_negative) && !is_negative)
        return true;
    *reader = before;
    return false;
}

bool wire_read_i64(struct wire_reader *reader, int64_t *value)
{
    struct wire_reader before = *reader;
    uint64_t bits;
    bool is_negative;
    if (read_integer(reader, &bits, &is_negative) && (is_negative || bits <= INT64_MAX)) {
        *value = (int64_t)bits;
        return true;
    }
    *reader = before;
    return false;
}

bool wire_read_f64(struct wire_reader *reader, double *value)
{
    uint64_t bits;
    int64_t integer;
    if (left(reader) == 0)
        return false;
    if (*reader->at == FLOAT64 && peek_number(reader, 8, &bits)) {
        memcpy(value, &bits, sizeof *value);
        reader->at += 9;
        return true;
    }
    if (*reader->at == FLOAT32 && peek_number(reader, 4, &bits)) {
        uint32_t bits32 = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &bits32, sizeof narrow);
        *value = narrow;
        reader->at += 5;
        return true;
    }
    if (!wire_read_i64(reader, &integer))
        return false;
    *value = (double)integer;
    return true;
}
