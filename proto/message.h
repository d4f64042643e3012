/* message.h - what processes say to one another over nng, defined once.
 *
 * Layer:   proto, wire (msgpack-c).
 * Form:    a message is one msgpack map. Its fields are rows of message_table.c:
 *          name, kind, bound, whether it must be there, one sentence of meaning.
 *          Encoding, checking, decoding and docs/PROTOCOL.md all come from that table.
 * Bounds:  depth, lengths and counts are checked before anything is allocated; an unknown
 *          or repeated field, a wrong type or an excess is STATUS_MALFORMED naming the
 *          field.
 * Owner:   decode fills spans that borrow from the message's bytes. Token ids and other
 *          arrays of u32 travel as msgpack bin, little-endian, and are read by wire_u32.
 */
#ifndef ROPEWAY_PROTO_MESSAGE_H
#define ROPEWAY_PROTO_MESSAGE_H

#include "common/base/buffer.h"
#include "common/base/span.h"
#include "proto/kv_layout.h"

#define MESSAGE_BYTES_MAX (4u << 20) /* a prompt of 2^19 tokens, and the rest */
#define POLL_EVENTS_MAX   256        /* in one reply; more wait for the next poll */
#define POLL_CURSORS_MAX  4096       /* choices of one frontend; they fit a message */

enum message_op {
    OP_SUBMIT,
    OP_POLL,
    OP_CANCEL,
    OP_STATUS,
    OP_DRAIN,
    OP_ATTACH,
    OP_BEAT,
    MESSAGE_OPS
};

/* frontend -> scheduler: takes a request in; again with the same id, choice and
 * body_digest it answers as the first time. Accepted means that the record is published.
 */
struct submit_request {
    uint64_t frontend; /* this frontend's identity, random at its start, never 0 */
    struct span id;    /* 1 to REQUEST_ID_BYTES - 1 bytes */
    uint32_t choice;
    struct span owner_key;   /* OWNER_KEY_BYTES, or empty */
    struct span body_digest; /* 32 bytes: SHA-256 of what the client sent */
    int64_t priority;
    struct sampling sampling;  /* each of its members is a field of its own */
    bool has_seed;             /* false: the scheduler draws one */
    uint32_t max_tokens;       /* at least 1 */
    uint32_t timeout_ms;       /* 0: the server's own limit */
    struct span prompt_tokens; /* u32[] */
    struct span stop_tokens; /* u32[] ids that end it, the vocabulary's own among them */
    struct span logit_bias;  /* struct logit_bias[] */
    struct span grammar;
    struct span client_blob;
    struct span cache_salt; /* at most CACHE_SALT_BYTES_MAX; empty: none */
};

struct submit_reply {
    enum status status;
    struct span param;    /* the field at fault */
    struct span sentence; /* for people; empty when ok */
    uint32_t generation;
    uint32_t retry_after_s; /* with overloaded and unavailable */
};

/* One per frontend is outstanding. number counts polls from 1; sending a number again
 * (its reply was lost) gives the events of the lost reply again and whatever came since.
 */
struct poll_cursor {
    struct span id;
    uint32_t choice;
    uint32_t tokens_count; /* generated tokens that the frontend has */
};
struct poll_request {
    uint64_t frontend;
    uint64_t number;
    uint32_t hold_ms; /* how long to wait for news */
    /* After a re-attach (new frontend, another generation, or a reply with
     * STATUS_NOT_FOUND: the scheduler forgot it): where it stands. */
    struct poll_cursor *cursors;
    uint32_t cursors_count;
};

/* News of one request. Tokens before `from` were told before; a receiver that has more
 * than `from` drops the overlap, so every token is taken exactly once. */
struct poll_event {
    struct span id;
    uint32_t choice;
    uint32_t from;        /* index of tokens[0] among the generated */
    struct span tokens;   /* u32[] */
    struct span logprobs; /* struct logprob[tokens x logprobs_per_token] */
    uint32_t logprobs_per_token;
    uint32_t state;         /* enum request_state */
    uint32_t finish_reason; /* enum finish_reason; set only with the last token */
    enum status failure;    /* of FINISH_FAILED */
    struct span sentence;
    uint32_t prompt_tokens_count;
    uint32_t cached_tokens_count;
    uint64_t queue_ns, prefill_ns, decode_ns; /* so far */
};
struct poll_reply {
    enum status status;
    struct span sentence;
    uint32_t generation;
    uint64_t number; /* the poll's */
    const struct poll_event *events;
    uint32_t events_count;
};

/* Idempotent. reason tells finished-by-stop-string from a client that left. */
struct cancel_request {
    uint64_t frontend;
    struct span id;
    uint32_t choice;
    uint32_t finish_reason; /* FINISH_CANCELLED, or FINISH_STOP for a stop string */
};
struct cancel_reply {
    enum status status;
    bool found;
};

struct status_request {
    bool counters; /* reserved for a shorter answer; true now */
};
/* The scheduler's numbers; counters count since its start. */
struct status_reply {
    enum status status;
    uint32_t generation;
    uint32_t workers_count; /* attached and alive */
    uint32_t running_count, waiting_count;
    uint32_t blocks_count, blocks_free_count, block_size;
    uint32_t slots_count, context_length, vocabulary_count, step_rows_max, prefill_chunk;
    uint64_t heartbeat_age_ns; /* since a step was committed while any was in flight */
    uint64_t received_total, finished_stop_total, finished_length_total, aborted_total;
    uint64_t failed_total, rejected_total, timed_out_total;
    uint64_t prompt_tokens_total, generation_tokens_total;
    uint64_t prefix_queries_total, prefix_hits_total, preemptions_total;
    uint64_t iterations_total, worker_restarts_total, replayed_steps_total;
    uint64_t waits_slot_ns_total, waits_kv_blocks_ns_total, waits_token_budget_ns_total;
};

struct drain_request {
    uint32_t timeout_ms;
};
struct drain_reply {
    enum status status;
    uint32_t left_count; /* requests still running */
};

/* worker -> scheduler: I am here. The reply says where the segments are. */
struct attach_request {
    int64_t pid;
    uint64_t start_ticks;
    struct span model_identity; /* 32 bytes */
    struct span kernels;
    uint32_t threads_count;
};
struct attach_reply {
    enum status status;
    struct span sentence;
    uint32_t worker; /* index of its slot */
    uint32_t generation;
    struct span instance; /* names the segments */
};

struct beat_request {
    uint32_t worker;
    uint32_t generation;
};
struct beat_reply {
    enum status status; /* not ok: the worker detaches and attaches anew */
};

/* Which operation a message asks for. */
enum status message_op(struct span bytes, enum message_op *op, struct fault *fault);

/* encode appends to out, whose failed flag tells of an excess. decode checks everything.
 * Arrays of a decoded message (cursors, events) are taken from arena, a caller's buffer
 * that must outlive the message and is cleared by it. */
#define MESSAGE_CODEC(name)                                                              \
    void name##_encode(const struct name *message, struct buffer *out);                  \
    enum status name##_decode(struct span bytes, struct name *message,                   \
                              struct buffer *arena, struct fault *fault);

MESSAGE_CODEC(submit_request)
MESSAGE_CODEC(submit_reply)
MESSAGE_CODEC(poll_request)
MESSAGE_CODEC(poll_reply)
MESSAGE_CODEC(cancel_request)
MESSAGE_CODEC(cancel_reply)
MESSAGE_CODEC(status_request)
MESSAGE_CODEC(status_reply)
MESSAGE_CODEC(drain_request)
MESSAGE_CODEC(drain_reply)
MESSAGE_CODEC(attach_request)
MESSAGE_CODEC(attach_reply)
MESSAGE_CODEC(beat_request)
MESSAGE_CODEC(beat_reply)

/* Elements of a span of little-endian u32. */
static inline size_t wire_u32_count(struct span span)
{
    return span.size / 4;
}
static inline uint32_t wire_u32(struct span span, size_t index)
{
    uint32_t value;
    memcpy(&value, span.data + 4 * index, sizeof value);
    return value;
}

#endif
