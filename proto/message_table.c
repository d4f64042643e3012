#include "proto/message_table.h"

#define SHA256_BYTES       32
#define TOKENS_BYTES_MAX   (MESSAGE_BYTES_MAX / 2)
#define SENTENCE_BYTES_MAX FAULT_SENTENCE_BYTES
#define KERNELS_BYTES_MAX  256
#define INSTANCE_BYTES_MAX 256
#define LOGPROBS_BYTES_MAX MESSAGE_BYTES_MAX
#define POLL_HOLD_BOUND_MS 3600000u

/* Rows of the struct STRUCT: required, optional, optional with a bool that says so. */
#define NEED(name, kind, bound, meaning)                                                 \
    {                                                                                    \
#name, kind, true, offsetof(struct STRUCT, name), bound, 0, NULL, meaning        \
    }
#define MAY(name, kind, bound, meaning)                                                  \
    {                                                                                    \
#name, kind, false, offsetof(struct STRUCT, name), bound, 0, NULL, meaning       \
    }
#define SAMPLING(name, kind, bound, meaning)                                             \
    {                                                                                    \
#name, kind, true, offsetof(struct STRUCT, sampling.name), bound, 0, NULL,       \
            meaning                                                                      \
    }
#define ARRAY(name, count, bound, items, meaning)                                        \
    {                                                                                    \
#name, WIRE_ARRAY, false, offsetof(struct STRUCT, name), bound,                  \
            offsetof(struct STRUCT, count), items, meaning                               \
    }

#define TABLE(message, op, rows)                                                         \
    {                                                                                    \
#message, op, sizeof(struct message), sizeof rows / sizeof rows[0], rows         \
    }

#define STRUCT submit_request
static const struct message_field submit_request_rows[] = {
    NEED(frontend, WIRE_U64, 0, "the frontend's identity: random at its start, never 0"),
    NEED(id, WIRE_TEXT, REQUEST_ID_BYTES - 1, "the request's id"),
    NEED(choice, WIRE_U32, 0, "which of a request's n choices"),
    MAY(owner_key, WIRE_BYTES, OWNER_KEY_BYTES, "SHA-256 of the API key, where one is"),
    NEED(body_digest, WIRE_BYTES, SHA256_BYTES, "SHA-256 of what the client sent"),
    MAY(priority, WIRE_I64, 0, "lower first; policies may ignore it"),
    SAMPLING(temperature, WIRE_F32, 0, "0: greedy"),
    SAMPLING(top_p, WIRE_F32, 0, "1: off"),
    SAMPLING(min_p, WIRE_F32, 0, "0: off"),
    SAMPLING(repetition_penalty, WIRE_F32, 0, "1: off; over prompt and output"),
    SAMPLING(presence_penalty, WIRE_F32, 0, "0: off; over the output"),
    SAMPLING(frequency_penalty, WIRE_F32, 0, "0: off; over the output"),
    SAMPLING(top_k, WIRE_I32, 0, "0: off"),
    SAMPLING(min_tokens, WIRE_U32, 0, "end tokens are barred until then"),
    {"seed", WIRE_U64, false, offsetof(struct submit_request, sampling.seed), 0,
     offsetof(struct submit_request, has_seed), NULL,
     "of the random numbers; drawn by the scheduler where absent"},
    SAMPLING(ignore_end, WIRE_U8, 1, "1: end tokens do not end it"),
    SAMPLING(logprobs, WIRE_U8, 1, "1: tell the sampled tokens' logprobs"),
    SAMPLING(top_logprobs, WIRE_U8, TOP_LOGPROBS_MAX, "and so many of the likeliest"),
    NEED(max_tokens, WIRE_U32, 0, "most tokens to generate, 1 or more"),
    MAY(timeout_ms, WIRE_U32, 0, "0: the server's own limit"),
    NEED(prompt_tokens, WIRE_BYTES, TOKENS_BYTES_MAX, "u32[], little-endian"),
    MAY(stop_tokens, WIRE_BYTES, STOP_TOKENS_MAX * sizeof(uint32_t),
        "u32[]: the tokens that end it"),
    MAY(logit_bias, WIRE_BYTES, LOGIT_BIAS_MAX * sizeof(struct logit_bias),
        "{u32 token, f32 bias}[]"),
    MAY(grammar, WIRE_BYTES, GRAMMAR_BYTES_MAX, "what the output must match"),
    MAY(client_blob, WIRE_BYTES, CLIENT_BLOB_BYTES_MAX,
        "the frontend's own, given back to its successor"),
    MAY(cache_salt, WIRE_BYTES, CACHE_SALT_BYTES_MAX,
        "only requests of the same salt and owner share cached prefixes; empty: none"),
};
const struct message_table submit_request_table =
    TABLE(submit_request, "submit", submit_request_rows);
#undef STRUCT

#define STRUCT submit_reply
static const struct message_field submit_reply_rows[] = {
    NEED(status, WIRE_STATUS, 0, "ok: the request's record is published"),
    MAY(param, WIRE_TEXT, FAULT_PARAM_BYTES, "the field at fault"),
    MAY(sentence, WIRE_TEXT, SENTENCE_BYTES_MAX, "what is wrong, for people"),
    NEED(generation, WIRE_U32, 0, "of the scheduler"),
    MAY(retry_after_s, WIRE_U32, 0, "with overloaded and unavailable"),
};
const struct message_table submit_reply_table =
    TABLE(submit_reply, NULL, submit_reply_rows);
#undef STRUCT

#define STRUCT poll_cursor
static const struct message_field poll_cursor_rows[] = {
    NEED(id, WIRE_TEXT, REQUEST_ID_BYTES - 1, "the request's id"),
    NEED(choice, WIRE_U32, 0, "and choice"),
    NEED(tokens_count, WIRE_U32, 0, "generated tokens that the frontend has"),
};
static const struct message_table poll_cursor_table =
    TABLE(poll_cursor, NULL, poll_cursor_rows);
#undef STRUCT

#define STRUCT poll_request
static const struct message_field poll_request_rows[] = {
    NEED(frontend, WIRE_U64, 0, "whose requests"),
    NEED(number, WIRE_U64, 0,
         "counts polls from 1; again after a lost reply, to have its events again"),
    NEED(hold_ms, WIRE_U32, POLL_HOLD_BOUND_MS, "how long to wait for news"),
    ARRAY(cursors, cursors_count, POLL_CURSORS_MAX, &poll_cursor_table,
          "where the frontend stands, after a re-attach"),
};
const struct message_table poll_request_table =
    TABLE(poll_request, "poll", poll_request_rows);
#undef STRUCT

#define STRUCT poll_event
static const struct message_field poll_event_rows[] = {
    NEED(id, WIRE_TEXT, REQUEST_ID_BYTES - 1, "the request's id"),
    NEED(choice, WIRE_U32, 0, "and choice"),
    NEED(from, WIRE_U32, 0, "index of the first token among the generated"),
    MAY(tokens, WIRE_BYTES, TOKENS_BYTES_MAX, "u32[], little-endian"),
    MAY(logprobs, WIRE_BYTES, LOGPROBS_BYTES_MAX,
        "{u32 token, f32 logprob}[tokens x logprobs_per_token], the sampled first"),
    MAY(logprobs_per_token, WIRE_U32, 1 + TOP_LOGPROBS_MAX, "0: none asked for"),
    NEED(state, WIRE_U32, REQUEST_STATES - 1, "1 waiting, 2 prefill, 3 decode, 4 done"),
    MAY(finish_reason, WIRE_U32, FINISH_REASONS - 1,
        "with the last token: 1 stop, 2 length, 3 cancelled, 4 timed out, 5 failed"),
    MAY(failure, WIRE_STATUS, 0, "why it failed"),
    MAY(sentence, WIRE_TEXT, SENTENCE_BYTES_MAX, "and for people"),
    MAY(prompt_tokens_count, WIRE_U32, 0, "tokens of the prompt"),
    MAY(cached_tokens_count, WIRE_U32, 0, "of these, from the prefix cache"),
    MAY(queue_ns, WIRE_U64, 0, "from arrival to admission"),
    MAY(prefill_ns, WIRE_U64, 0, "from admission to the first token"),
    MAY(decode_ns, WIRE_U64, 0, "from the first token on"),
};
static const struct message_table poll_event_table =
    TABLE(poll_event, NULL, poll_event_rows);
#undef STRUCT

#define STRUCT poll_reply
static const struct message_field poll_reply_rows[] = {
    NEED(status, WIRE_STATUS, 0, "not_found: the next poll must bring cursors"),
    MAY(sentence, WIRE_TEXT, SENTENCE_BYTES_MAX, "what is wrong, for people"),
    NEED(generation, WIRE_U32, 0, "of the scheduler"),
    NEED(number, WIRE_U64, 0, "the poll's"),
    ARRAY(events, events_count, POLL_EVENTS_MAX, &poll_event_table, "the news"),
};
const struct message_table poll_reply_table = TABLE(poll_reply, NULL, poll_reply_rows);
#undef STRUCT

#define STRUCT cancel_request
static const struct message_field cancel_request_rows[] = {
    NEED(frontend, WIRE_U64, 0, "whose request"),
    NEED(id, WIRE_TEXT, REQUEST_ID_BYTES - 1, "its id"),
    NEED(choice, WIRE_U32, 0, "and choice"),
    NEED(finish_reason, WIRE_U32, FINISH_REASONS - 1,
         "3 cancelled, or 1 stop: its text holds a stop string"),
};
const struct message_table cancel_request_table =
    TABLE(cancel_request, "cancel", cancel_request_rows);
#undef STRUCT

#define STRUCT cancel_reply
static const struct message_field cancel_reply_rows[] = {
    NEED(status, WIRE_STATUS, 0, "ok"),
    NEED(found, WIRE_BOOL, 0, "whether there is such a request"),
};
const struct message_table cancel_reply_table =
    TABLE(cancel_reply, NULL, cancel_reply_rows);
#undef STRUCT

#define STRUCT status_request
static const struct message_field status_request_rows[] = {
    NEED(counters, WIRE_BOOL, 0, "true"),
};
const struct message_table status_request_table =
    TABLE(status_request, "status", status_request_rows);
#undef STRUCT

#define STRUCT status_reply
static const struct message_field status_reply_rows[] = {
    NEED(status, WIRE_STATUS, 0, "ok"),
    NEED(generation, WIRE_U32, 0, "of the scheduler"),
    NEED(workers_count, WIRE_U32, 0, "attached and alive"),
    NEED(running_count, WIRE_U32, 0, "requests in the batch"),
    NEED(waiting_count, WIRE_U32, 0, "requests in the queue"),
    NEED(blocks_count, WIRE_U32, 0, "KV blocks of the pool"),
    NEED(blocks_free_count, WIRE_U32, 0,
         "of these, held by no request: free, or cached and free to take"),
    NEED(block_size, WIRE_U32, 0, "tokens of a block"),
    NEED(slots_count, WIRE_U32, 0, "most running requests"),
    NEED(context_length, WIRE_U32, 0, "most tokens of a request"),
    NEED(vocabulary_count, WIRE_U32, 0, "tokens that exist"),
    NEED(step_rows_max, WIRE_U32, 0, "the token budget of an iteration"),
    NEED(prefill_chunk, WIRE_U32, 0, "most prompt tokens of a request in an iteration"),
    NEED(heartbeat_age_ns, WIRE_U64, 0,
         "since a step was committed, while any is in flight"),
    NEED(received_total, WIRE_U64, 0, "submits, refused ones among them"),
    NEED(finished_stop_total, WIRE_U64, 0, "ended by a stop token or string"),
    NEED(finished_length_total, WIRE_U64, 0, "ended by max_tokens or the context"),
    NEED(aborted_total, WIRE_U64, 0, "cancelled"),
    NEED(failed_total, WIRE_U64, 0, "failed"),
    NEED(rejected_total, WIRE_U64, 0, "refused at submit"),
    NEED(timed_out_total, WIRE_U64, 0, "timed out"),
    NEED(prompt_tokens_total, WIRE_U64, 0, "of accepted requests"),
    NEED(generation_tokens_total, WIRE_U64, 0, "sampled"),
    NEED(prefix_queries_total, WIRE_U64, 0,
         "prompt tokens looked up in the prefix cache"),
    NEED(prefix_hits_total, WIRE_U64, 0, "of these, found"),
    NEED(preemptions_total, WIRE_U64, 0, "requests put back into the queue"),
    NEED(iterations_total, WIRE_U64, 0, "steps committed"),
    NEED(worker_restarts_total, WIRE_U64, 0, "workers that ended"),
    NEED(replayed_steps_total, WIRE_U64, 0, "steps run again after a death"),
    NEED(waits_slot_ns_total, WIRE_U64, 0, "waited for a slot"),
    NEED(waits_kv_blocks_ns_total, WIRE_U64, 0, "waited for KV blocks"),
    NEED(waits_token_budget_ns_total, WIRE_U64, 0, "waited for token budget"),
};
const struct message_table status_reply_table =
    TABLE(status_reply, NULL, status_reply_rows);
#undef STRUCT

#define STRUCT drain_request
static const struct message_field drain_request_rows[] = {
    NEED(timeout_ms, WIRE_U32, 0, "the reply comes when nothing is left, or then"),
};
const struct message_table drain_request_table =
    TABLE(drain_request, "drain", drain_request_rows);
#undef STRUCT

#define STRUCT drain_reply
static const struct message_field drain_reply_rows[] = {
    NEED(status, WIRE_STATUS, 0, "ok: new submits are refused from now on"),
    NEED(left_count, WIRE_U32, 0, "requests that run or wait still"),
};
const struct message_table drain_reply_table = TABLE(drain_reply, NULL, drain_reply_rows);
#undef STRUCT

#define STRUCT attach_request
static const struct message_field attach_request_rows[] = {
    NEED(pid, WIRE_I64, 0, "the worker's"),
    NEED(start_ticks, WIRE_U64, 0, "field 22 of its /proc/<pid>/stat"),
    NEED(model_identity, WIRE_BYTES, SHA256_BYTES, "of the weights that it has loaded"),
    MAY(kernels, WIRE_TEXT, KERNELS_BYTES_MAX, "what computes there, for people"),
    NEED(threads_count, WIRE_U32, 0, "of its team"),
};
const struct message_table attach_request_table =
    TABLE(attach_request, "attach", attach_request_rows);
#undef STRUCT

#define STRUCT attach_reply
static const struct message_field attach_reply_rows[] = {
    NEED(status, WIRE_STATUS, 0, "ok: steps will come"),
    MAY(sentence, WIRE_TEXT, SENTENCE_BYTES_MAX, "what is wrong, for people"),
    NEED(worker, WIRE_U32, 0, "index of its place"),
    NEED(generation, WIRE_U32, 0, "of the scheduler"),
    NEED(instance, WIRE_TEXT, INSTANCE_BYTES_MAX, "names the segments"),
};
const struct message_table attach_reply_table =
    TABLE(attach_reply, NULL, attach_reply_rows);
#undef STRUCT

#define STRUCT beat_request
static const struct message_field beat_request_rows[] = {
    NEED(worker, WIRE_U32, 0, "index of its place"),
    NEED(generation, WIRE_U32, 0, "that it is attached to"),
};
const struct message_table beat_request_table =
    TABLE(beat_request, "beat", beat_request_rows);
#undef STRUCT

#define STRUCT beat_reply
static const struct message_field beat_reply_rows[] = {
    NEED(status, WIRE_STATUS, 0, "not ok: detach, and attach anew"),
};
const struct message_table beat_reply_table = TABLE(beat_reply, NULL, beat_reply_rows);
#undef STRUCT

const struct message_table *const message_tables[MESSAGE_TABLES_COUNT] = {
    &submit_request_table, &submit_reply_table,   &poll_request_table,
    &poll_reply_table,     &cancel_request_table, &cancel_reply_table,
    &status_request_table, &status_reply_table,   &drain_request_table,
    &drain_reply_table,    &attach_request_table, &attach_reply_table,
    &beat_request_table,   &beat_reply_table};

const char *const message_op_names[MESSAGE_OPS] = {
    [OP_SUBMIT] = "submit", [OP_POLL] = "poll",   [OP_CANCEL] = "cancel",
    [OP_STATUS] = "status", [OP_DRAIN] = "drain", [OP_ATTACH] = "attach",
    [OP_BEAT] = "beat"};
