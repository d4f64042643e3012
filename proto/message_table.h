/* message_table.h - every message's fields: one row each. The codec, its checks and
 * docs/PROTOCOL.md come from these rows.
 */
#ifndef ROPEWAY_PROTO_MESSAGE_TABLE_H
#define ROPEWAY_PROTO_MESSAGE_TABLE_H

#include "proto/message.h"

/* How a field travels, and what holds it in its struct. */
enum wire_kind {
    WIRE_U8,     /* integer; uint8_t */
    WIRE_U32,    /* integer; uint32_t, or an enum of that size */
    WIRE_U64,    /* integer; uint64_t */
    WIRE_I32,    /* integer; int32_t */
    WIRE_I64,    /* integer; int64_t */
    WIRE_F32,    /* float; float */
    WIRE_BOOL,   /* boolean; bool */
    WIRE_STATUS, /* str, the status's wire name; enum status */
    WIRE_TEXT,   /* str; struct span */
    WIRE_BYTES,  /* bin; struct span */
    WIRE_ARRAY,  /* array of maps; a pointer to structs, with its count beside it */
    WIRE_KINDS
};

struct message_table;

struct message_field {
    const char *name;
    enum wire_kind kind;
    bool is_required;
    uint32_t offset;
    uint32_t bound; /* greatest value of an integer, most bytes or items; 0: the kind's */
    /* WIRE_ARRAY: where its count is. Others: 0, or where the bool is that says whether
     * the field is there. */
    uint32_t companion_offset;
    const struct message_table *items; /* WIRE_ARRAY */
    const char *meaning;
};

struct message_table {
    const char *name;
    const char *op; /* of a request; NULL for replies and items */
    uint32_t struct_bytes;
    uint32_t fields_count;
    const struct message_field *fields;
};

extern const struct message_table submit_request_table, submit_reply_table,
    poll_request_table, poll_reply_table, cancel_request_table, cancel_reply_table,
    status_request_table, status_reply_table, drain_request_table, drain_reply_table,
    attach_request_table, attach_reply_table, beat_request_table, beat_reply_table;

/* All of them, requests before their replies; and the names of the operations. */
#define MESSAGE_TABLES_COUNT 14
extern const struct message_table *const message_tables[MESSAGE_TABLES_COUNT];
extern const char *const message_op_names[MESSAGE_OPS];

#endif
