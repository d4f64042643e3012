/* message.c - one encoder and one decoder for all messages, driven by their tables. */
#include "proto/message.h"

#include "common/base/invariant.h"
#include "proto/message_table.h"
#include "proto/wire_reader.h"
#include <msgpack.h>

#define OP_FIELD       "op"
#define NAME_BYTES_MAX 64u

/* --- encoding ----------------------------------------------------------------------- */

static int append(void *out, const char *bytes, size_t size)
{
    buffer_append(out, bytes, size);
    return 0;
}

static void pack_text(msgpack_packer *packer, struct span text)
{
    msgpack_pack_str(packer, text.size);
    msgpack_pack_str_body(packer, text.data, text.size);
}

static bool is_present(const struct message_field *field, const char *message)
{
    const struct span *span = (const struct span *)(message + field->offset);
    bool is_run = field->kind == WIRE_TEXT || field->kind == WIRE_BYTES;
    if (field->kind == WIRE_ARRAY) {
        uint32_t count;
        memcpy(&count, message + field->companion_offset, sizeof count);
        return count > 0;
    }
    if (field->companion_offset != 0)
        return *(const bool *)(message + field->companion_offset);
    return field->is_required || !is_run || span->size > 0;
}

static void pack_map(msgpack_packer *packer, const struct message_table *table,
                     const char *message);

static void pack_array(msgpack_packer *packer, const struct message_field *field,
                       const char *message)
{
    const char *items;
    uint32_t count;
    memcpy(&items, message + field->offset, sizeof items);
    memcpy(&count, message + field->companion_offset, sizeof count);
    msgpack_pack_array(packer, count);
    for (uint32_t i = 0; i < count; i++)
        pack_map(packer, field->items, items + (size_t)i * field->items->struct_bytes);
}

static void pack_field(msgpack_packer *packer, const struct message_field *field,
                       const char *message)
{
    const void *value = message + field->offset;
    switch (field->kind) {
    case WIRE_U8:
        msgpack_pack_uint8(packer, *(const uint8_t *)value);
        return;
    case WIRE_U32:
        msgpack_pack_uint32(packer, *(const uint32_t *)value);
        return;
    case WIRE_U64:
        msgpack_pack_uint64(packer, *(const uint64_t *)value);
        return;
    case WIRE_I32:
        msgpack_pack_int32(packer, *(const int32_t *)value);
        return;
    case WIRE_I64:
        msgpack_pack_int64(packer, *(const int64_t *)value);
        return;
    case WIRE_F32:
        msgpack_pack_float(packer, *(const float *)value);
        return;
    case WIRE_BOOL:
        if (*(const bool *)value)
            msgpack_pack_true(packer);
        else
            msgpack_pack_false(packer);
        return;
    case WIRE_STATUS:
        pack_text(packer, span_of(status_wire_name(*(const enum status *)value)));
        return;
    case WIRE_TEXT:
        pack_text(packer, *(const struct span *)value);
        return;
    case WIRE_BYTES:
        msgpack_pack_bin(packer, ((const struct span *)value)->size);
        msgpack_pack_bin_body(packer, ((const struct span *)value)->data,
                              ((const struct span *)value)->size);
        return;
    case WIRE_ARRAY:
        pack_array(packer, field, message);
        return;
    default:
        INVARIANT(field->kind < WIRE_KINDS);
    }
}

static void pack_map(msgpack_packer *packer, const struct message_table *table,
                     const char *message)
{
    uint32_t pairs_count = table->op != NULL;
    for (uint32_t i = 0; i < table->fields_count; i++)
        pairs_count += is_present(&table->fields[i], message);
    msgpack_pack_map(packer, pairs_count);
    if (table->op != NULL) {
        pack_text(packer, SPAN_LITERAL(OP_FIELD));
        pack_text(packer, span_of(table->op));
    }
    for (uint32_t i = 0; i < table->fields_count; i++) {
        if (!is_present(&table->fields[i], message))
            continue;
        pack_text(packer, span_of(table->fields[i].name));
        pack_field(packer, &table->fields[i], message);
    }
}

static void encode(const struct message_table *table, const void *message,
                   struct buffer *out)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, out, append);
    pack_map(&packer, table, message);
}

/* --- decoding ----------------------------------------------------------------------- */

static enum status malformed(struct fault *fault, const char *field, const char *what)
{
    return fault_set(fault, STATUS_MALFORMED, field, "field '%s' %s", field, what);
}

static enum status read_unsigned(struct wire_reader *reader,
                                 const struct message_field *field, uint64_t kind_max,
                                 uint64_t *number, struct fault *fault)
{
    uint64_t max = field->bound != 0 ? field->bound : kind_max;
    if (!wire_read_u64(reader, number))
        return malformed(fault, field->name, "must be an integer of 0 or more");
    if (*number > max)
        return fault_set(fault, STATUS_MALFORMED, field->name,
                         "field '%s' is %llu, at most %llu is allowed", field->name,
                         (unsigned long long)*number, (unsigned long long)max);
    return STATUS_OK;
}

static enum status read_signed(struct wire_reader *reader,
                               const struct message_field *field, int64_t min,
                               int64_t max, int64_t *number, struct fault *fault)
{
    if (!wire_read_i64(reader, number) || *number < min || *number > max)
        return malformed(fault, field->name, "must be an integer within its range");
    return STATUS_OK;
}

static enum status read_span(struct wire_reader *reader,
                             const struct message_field *field, struct span *span,
                             struct fault *fault)
{
    bool is_text = field->kind == WIRE_TEXT;
    if (is_text ? !wire_read_text(reader, span) : !wire_read_bytes(reader, span))
        return malformed(fault, field->name, is_text ? "must be a str" : "must be a bin");
    if (span->size > field->bound)
        return fault_set(fault, STATUS_MALFORMED, field->name,
                         "field '%s' has %zu bytes, at most %u are allowed", field->name,
                         span->size, field->bound);
    return STATUS_OK;
}

static enum status read_status(struct wire_reader *reader,
                               const struct message_field *field, enum status *value,
                               struct fault *fault)
{
    struct span text;
    char name[NAME_BYTES_MAX];
    if (!wire_read_text(reader, &text) || text.size >= sizeof name)
        return malformed(fault, field->name, "must be a status's name");
    memcpy(name, text.data, text.size);
    name[text.size] = '\0';
    *value = status_from_wire_name(name);
    return STATUS_OK;
}

static enum status read_map(struct wire_reader *reader, const struct message_table *table,
                            char *message, struct buffer *arena, struct fault *fault);

/* Nested maps hold no arrays, so this goes no deeper. */
static enum status read_array(struct wire_reader *reader,
                              const struct message_field *field, char *message,
                              struct buffer *arena, struct fault *fault)
{
    uint32_t count, item_bytes = field->items->struct_bytes;
    if (!wire_read_array(reader, &count))
        return malformed(fault, field->name, "must be an array");
    if (count > field->bound)
        return fault_set(fault, STATUS_MALFORMED, field->name,
                         "field '%s' has %u items, at most %u are allowed", field->name,
                         count, field->bound);
    char *items = count == 0 ? NULL : buffer_extend(arena, (size_t)count * item_bytes);
    if (count > 0 && items == NULL)
        return fault_set(fault, STATUS_TOO_LARGE, field->name,
                         "no memory for the %u items of field '%s'", count, field->name);
    for (uint32_t i = 0; i < count; i++) {
        enum status status =
            read_map(reader, field->items, items + (size_t)i * item_bytes, arena, fault);
        if (status != STATUS_OK)
            return status;
    }
    memcpy(message + field->offset, &items, sizeof items);
    memcpy(message + field->companion_offset, &count, sizeof count);
    return STATUS_OK;
}

static enum status read_number(struct wire_reader *reader,
                               const struct message_field *field, void *value,
                               struct fault *fault)
{
    enum status status;
    uint64_t number = 0;
    int64_t signed_number = 0;
    double real;
    switch (field->kind) {
    case WIRE_U8:
        status = read_unsigned(reader, field, UINT8_MAX, &number, fault);
        *(uint8_t *)value = (uint8_t)number;
        return status;
    case WIRE_U32:
        status = read_unsigned(reader, field, UINT32_MAX, &number, fault);
        *(uint32_t *)value = (uint32_t)number;
        return status;
    case WIRE_U64:
        return read_unsigned(reader, field, UINT64_MAX, value, fault);
    case WIRE_I32:
        status = read_signed(reader, field, INT32_MIN, INT32_MAX, &signed_number, fault);
        *(int32_t *)value = (int32_t)signed_number;
        return status;
    case WIRE_I64:
        return read_signed(reader, field, INT64_MIN, INT64_MAX, value, fault);
    default:
        if (!wire_read_f64(reader, &real))
            return malformed(fault, field->name, "must be a number");
        *(float *)value = (float)real;
        return STATUS_OK;
    }
}

static enum status read_field(struct wire_reader *reader,
                              const struct message_field *field, char *message,
                              struct buffer *arena, struct fault *fault)
{
    void *value = message + field->offset;
    if (field->kind != WIRE_ARRAY && field->companion_offset != 0)
        *(bool *)(message + field->companion_offset) = true;
    switch (field->kind) {
    case WIRE_BOOL:
        return wire_read_bool(reader, value)
                   ? STATUS_OK
                   : malformed(fault, field->name, "must be true or false");
    case WIRE_STATUS:
        return read_status(reader, field, value, fault);
    case WIRE_TEXT:
    case WIRE_BYTES:
        return read_span(reader, field, value, fault);
    case WIRE_ARRAY:
        return read_array(reader, field, message, arena, fault);
    default:
        return read_number(reader, field, value, fault);
    }
}

/* Index of the field of that name; fields_count when there is none. */
static uint32_t find_field(const struct message_table *table, struct span name)
{
    uint32_t i = 0;
    while (i < table->fields_count && !span_equal(span_of(table->fields[i].name), name))
        i++;
    return i;
}

static enum status read_op(struct wire_reader *reader, const struct message_table *table,
                           struct fault *fault)
{
    struct span op;
    if (!wire_read_text(reader, &op) || !span_equal(op, span_of(table->op)))
        return malformed(fault, OP_FIELD, "is that of another message");
    return STATUS_OK;
}

static enum status unknown_field(struct span name, struct fault *fault)
{
    size_t size = name.size < NAME_BYTES_MAX ? name.size : NAME_BYTES_MAX;
    return fault_set(fault, STATUS_MALFORMED, "", "there is no field '%.*s'", (int)size,
                     name.data);
}

static enum status check_required(const struct message_table *table, uint64_t seen,
                                  struct fault *fault)
{
    for (uint32_t i = 0; i < table->fields_count; i++)
        if (table->fields[i].is_required && !(seen >> i & 1))
            return malformed(fault, table->fields[i].name, "is missing");
    return STATUS_OK;
}

static enum status read_map(struct wire_reader *reader, const struct message_table *table,
                            char *message, struct buffer *arena, struct fault *fault)
{
    uint32_t pairs_count;
    uint64_t seen = 0; /* bit i: field i; the bit behind the last field's: op */
    INVARIANT(table->fields_count < 64);
    memset(message, 0, table->struct_bytes);
    if (!wire_read_map(reader, &pairs_count))
        return fault_set(fault, STATUS_MALFORMED, "", "%s must be a msgpack map",
                         table->name);
    for (uint32_t pair = 0; pair < pairs_count; pair++) {
        struct span name;
        if (!wire_read_text(reader, &name))
            return fault_set(fault, STATUS_MALFORMED, "", "a field's name must be a str");
        uint32_t i = find_field(table, name);
        bool is_op = table->op != NULL && span_equal(name, SPAN_LITERAL(OP_FIELD));
        if (i == table->fields_count && !is_op)
            return unknown_field(name, fault);
        if (seen >> i & 1)
            return malformed(fault, is_op ? OP_FIELD : table->fields[i].name,
                             "is there twice");
        seen |= UINT64_C(1) << i;
        enum status status =
            is_op ? read_op(reader, table, fault)
                  : read_field(reader, &table->fields[i], message, arena, fault);
        if (status != STATUS_OK)
            return status;
    }
    return check_required(table, seen, fault);
}

static enum status decode(const struct message_table *table, struct span bytes,
                          void *message, struct buffer *arena, struct fault *fault)
{
    struct wire_reader reader = wire_reader_of(bytes);
    buffer_clear(arena);
    enum status status = read_map(&reader, table, message, arena, fault);
    if (status == STATUS_OK && !wire_at_end(&reader))
        return fault_set(fault, STATUS_MALFORMED, "", "bytes follow the %s", table->name);
    return status;
}

enum status message_op(struct span bytes, enum message_op *op, struct fault *fault)
{
    struct wire_reader reader = wire_reader_of(bytes);
    uint32_t pairs_count;
    struct span name, value;
    /* Every encoder of ours writes op first, and so must others. */
    if (!wire_read_map(&reader, &pairs_count) || pairs_count == 0 ||
        !wire_read_text(&reader, &name) || !span_equal(name, SPAN_LITERAL(OP_FIELD)) ||
        !wire_read_text(&reader, &value))
        return fault_set(fault, STATUS_MALFORMED, OP_FIELD,
                         "a message must be a msgpack map whose first field is 'op'");
    for (int i = 0; i < MESSAGE_OPS; i++) {
        if (span_equal(value, span_of(message_op_names[i]))) {
            *op = (enum message_op)i;
            return STATUS_OK;
        }
    }
    return fault_set(fault, STATUS_MALFORMED, OP_FIELD, "there is no operation '%.*s'",
                     (int)(value.size < NAME_BYTES_MAX ? value.size : NAME_BYTES_MAX),
                     value.data);
}

#define CODEC(name)                                                                      \
    void name##_encode(const struct name *message, struct buffer *out)                   \
    {                                                                                    \
        encode(&name##_table, message, out);                                             \
    }                                                                                    \
    enum status name##_decode(struct span bytes, struct name *message,                   \
                              struct buffer *arena, struct fault *fault)                 \
    {                                                                                    \
        return decode(&name##_table, bytes, message, arena, fault);                      \
    }

CODEC(submit_request)
CODEC(submit_reply)
CODEC(poll_request)
CODEC(poll_reply)
CODEC(cancel_request)
CODEC(cancel_reply)
CODEC(status_request)
CODEC(status_reply)
CODEC(drain_request)
CODEC(drain_reply)
CODEC(attach_request)
CODEC(attach_reply)
CODEC(beat_request)
CODEC(beat_reply)
