/* wire_reader.h - reads msgpack from untrusted bytes, item by item, allocating nothing.
 *
 * Layer:   proto, wire (pure).
 * Source:  the MessagePack specification (github.com/msgpack/msgpack, spec.md).
 * Safety:  a length is believed only when that many bytes are left, a count only when
 *          that many items could be (each takes a byte at least). Depth is the caller's:
 *          nothing here recurses, and nothing skips a nested item.
 * Result:  false leaves the reader where it was: another kind of item, or a cut one.
 */
#ifndef ROPEWAY_PROTO_WIRE_READER_H
#define ROPEWAY_PROTO_WIRE_READER_H

#include "common/base/span.h"
#include <stdint.h>

struct wire_reader {
    const unsigned char *at, *end;
};

static inline struct wire_reader wire_reader_of(struct span bytes)
{
    const unsigned char *data = (const unsigned char *)bytes.data;
    return (struct wire_reader){data, data + bytes.size};
}

static inline bool wire_at_end(const struct wire_reader *reader)
{
    return reader->at == reader->end;
}

/* Pairs and items that follow. */
bool wire_read_map(struct wire_reader *reader, uint32_t *pairs_count);
bool wire_read_array(struct wire_reader *reader, uint32_t *items_count);

/* The span borrows from the message. */
bool wire_read_text(struct wire_reader *reader, struct span *text);
bool wire_read_bytes(struct wire_reader *reader, struct span *bytes);

bool wire_read_bool(struct wire_reader *reader, bool *value);
/* Any integer that is not negative; any that fits. */
bool wire_read_u64(struct wire_reader *reader, uint64_t *value);
bool wire_read_i64(struct wire_reader *reader, int64_t *value);
/* Floats of both sizes, and integers. */
bool wire_read_f64(struct wire_reader *reader, double *value);

#endif
