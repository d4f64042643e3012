/* client_blob.h - how an answer is to be written, and its form within a request's record.
 *
 * A record carries these bytes, opaque to the scheduler, so that another frontend can go
 * on with the answer of one that died.
 *
 *   u8 version | u8 kind | u8 flags | u8 top_logprobs | i64 created | u32 choices
 *   then id, model and each stop string as u16 size and bytes; a size of 0 ends the stops
 *
 * Layer:   frontend/core (pure). Numbers are little-endian.
 */
#ifndef ROPEWAY_FRONTEND_CORE_CLIENT_BLOB_H
#define ROPEWAY_FRONTEND_CORE_CLIENT_BLOB_H

#include "common/base/buffer.h"
#include "common/base/status.h"
#include "frontend/core/generation_request.h"

#define CLIENT_BLOB_VERSION 1

struct answer_format {
    enum answer_kind kind;
    bool stream, include_usage, echo, logprobs;
    uint8_t top_logprobs;
    uint32_t choices_per_prompt;
    int64_t created_unix_s;
    struct span id, model; /* borrowed */
    struct span stops[STOP_STRINGS_MAX];
    uint32_t stops_count;
};

void client_blob_encode(const struct answer_format *format, struct buffer *out);

/* The format's spans borrow from bytes. STATUS_CORRUPT for anything not written above. */
enum status client_blob_decode(struct span bytes, struct answer_format *format,
                               struct fault *fault);

#endif
