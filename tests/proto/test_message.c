/* Messages come back as they went, and nothing else comes in. */
#include "proto/message.h"
#include "proto/message_table.h"

#include <criterion/criterion.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

static struct buffer out, arena;
static struct fault fault;

static void set_up(void)
{
    buffer_init(&out, MESSAGE_BYTES_MAX);
    buffer_init(&arena, MESSAGE_BYTES_MAX);
}

static void tear_down(void)
{
    buffer_fini(&out);
    buffer_fini(&arena);
}

TestSuite(message, .init = set_up, .fini = tear_down);

static const uint32_t prompt[3] = {1, 49151, 7};
static char digest[32] = {1, 2, 3};

static struct submit_request full_submit(void)
{
    static const struct logit_bias bias = {5, -1.5f};
    return (struct submit_request){.frontend = UINT64_MAX,
                                   .id = SPAN_LITERAL("cmpl-1"),
                                   .choice = 3,
                                   .owner_key = {digest, sizeof digest},
                                   .body_digest = {digest, sizeof digest},
                                   .priority = -7,
                                   .sampling = {.temperature = 0.7f,
                                                .top_p = 0.9f,
                                                .min_p = 0.05f,
                                                .repetition_penalty = 1.1f,
                                                .presence_penalty = -0.5f,
                                                .frequency_penalty = 0.25f,
                                                .top_k = 40,
                                                .min_tokens = 2,
                                                .seed = UINT64_C(0xfedcba9876543210),
                                                .ignore_end = 1,
                                                .logprobs = 1,
                                                .top_logprobs = 20},
                                   .has_seed = true,
                                   .max_tokens = 16,
                                   .timeout_ms = 5000,
                                   .prompt_tokens = {(const char *)prompt, sizeof prompt},
                                   .stop_tokens = {(const char *)prompt, 4},
                                   .logit_bias = {(const char *)&bias, sizeof bias},
                                   .grammar = SPAN_LITERAL("root ::= \"a\""),
                                   .client_blob = {"\0\1\2", 3},
                                   .cache_salt = {"s\0t", 3}};
}

static void assert_sampling(const struct sampling *got, const struct sampling *sent)
{
    cr_assert_eq(got->temperature, sent->temperature);
    cr_assert_eq(got->top_p, sent->top_p);
    cr_assert_eq(got->min_p, sent->min_p);
    cr_assert_eq(got->repetition_penalty, sent->repetition_penalty);
    cr_assert_eq(got->presence_penalty, sent->presence_penalty);
    cr_assert_eq(got->frequency_penalty, sent->frequency_penalty);
    cr_assert_eq(got->top_k, sent->top_k);
    cr_assert_eq(got->min_tokens, sent->min_tokens);
    cr_assert_eq(got->seed, sent->seed);
    cr_assert_eq(got->ignore_end, sent->ignore_end);
    cr_assert_eq(got->logprobs, sent->logprobs);
    cr_assert_eq(got->top_logprobs, sent->top_logprobs);
}

Test(message, a_submit_comes_back_as_it_went)
{
    struct submit_request sent = full_submit(), got;
    submit_request_encode(&sent, &out);
    cr_assert_not(out.failed);
    cr_assert_eq(submit_request_decode(buffer_span(&out), &got, &arena, &fault),
                 STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(got.frontend, sent.frontend);
    cr_assert(span_equal(got.id, sent.id));
    cr_assert_eq(got.choice, 3);
    cr_assert(span_equal(got.owner_key, sent.owner_key));
    cr_assert(span_equal(got.body_digest, sent.body_digest));
    cr_assert_eq(got.priority, -7);
    assert_sampling(&got.sampling, &sent.sampling);
    cr_assert(got.has_seed);
    cr_assert_eq(got.max_tokens, 16);
    cr_assert_eq(got.timeout_ms, 5000);
    cr_assert_eq(wire_u32_count(got.prompt_tokens), 3);
    cr_assert_eq(wire_u32(got.prompt_tokens, 1), 49151);
    cr_assert(span_equal(got.stop_tokens, sent.stop_tokens));
    cr_assert(span_equal(got.logit_bias, sent.logit_bias));
    cr_assert(span_equal(got.grammar, sent.grammar));
    cr_assert(span_equal(got.client_blob, sent.client_blob));
    cr_assert(span_equal(got.cache_salt, sent.cache_salt));
    enum message_op op;
    cr_assert_eq(message_op(buffer_span(&out), &op, &fault), STATUS_OK);
    cr_assert_eq(op, OP_SUBMIT);
}

Test(message, an_absent_seed_stays_absent)
{
    struct submit_request sent = full_submit(), got;
    sent.has_seed = false;
    submit_request_encode(&sent, &out);
    cr_assert_eq(submit_request_decode(buffer_span(&out), &got, &arena, &fault),
                 STATUS_OK);
    cr_assert_not(got.has_seed);
    cr_assert_eq(got.sampling.seed, 0);
}

Test(message, cursors_and_events_come_back_in_order)
{
    struct poll_cursor cursors[2] = {{SPAN_LITERAL("a"), 0, 5},
                                     {SPAN_LITERAL("b"), 1, 6}};
    struct poll_request sent = {.frontend = 9,
                                .number = 4,
                                .hold_ms = 1000,
                                .cursors = cursors,
                                .cursors_count = 2},
                        got;
    poll_request_encode(&sent, &out);
    cr_assert_eq(poll_request_decode(buffer_span(&out), &got, &arena, &fault), STATUS_OK);
    cr_assert_eq(got.cursors_count, 2);
    cr_assert(span_equal(got.cursors[1].id, cursors[1].id));
    cr_assert_eq(got.cursors[1].choice, 1);
    cr_assert_eq(got.cursors[1].tokens_count, 6);

    buffer_clear(&out);
    const struct logprob logprobs[2] = {{1, -0.5f}, {2, -3.0f}};
    struct poll_event events[2] = {{.id = SPAN_LITERAL("a"),
                                    .from = 5,
                                    .tokens = {(const char *)prompt, 4},
                                    .logprobs = {(const char *)logprobs, sizeof logprobs},
                                    .logprobs_per_token = 2,
                                    .state = REQUEST_DECODE,
                                    .prompt_tokens_count = 3,
                                    .queue_ns = UINT64_C(1) << 40},
                                   {.id = SPAN_LITERAL("b"),
                                    .state = REQUEST_DONE,
                                    .finish_reason = FINISH_FAILED,
                                    .failure = STATUS_UNAVAILABLE,
                                    .sentence = SPAN_LITERAL("gone")}};
    struct poll_reply reply = {.status = STATUS_OK,
                               .generation = 3,
                               .number = 4,
                               .events = events,
                               .events_count = 2},
                      got_reply;
    poll_reply_encode(&reply, &out);
    cr_assert_eq(poll_reply_decode(buffer_span(&out), &got_reply, &arena, &fault),
                 STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(got_reply.events_count, 2);
    cr_assert_eq(got_reply.events[0].from, 5);
    cr_assert(span_equal(got_reply.events[0].logprobs, events[0].logprobs));
    cr_assert_eq(got_reply.events[0].queue_ns, UINT64_C(1) << 40);
    cr_assert_eq(got_reply.events[1].failure, STATUS_UNAVAILABLE);
    cr_assert_eq(got_reply.events[1].finish_reason, FINISH_FAILED);
    cr_assert(span_equal(got_reply.events[1].sentence, SPAN_LITERAL("gone")));
}

Test(message, a_reply_carries_statuses_by_name)
{
    struct submit_reply sent = {.status = STATUS_OVERLOADED,
                                .sentence = SPAN_LITERAL("full"),
                                .generation = 2,
                                .retry_after_s = 9},
                        got;
    submit_reply_encode(&sent, &out);
    cr_assert_not_null(memmem(out.data, out.size, "overloaded", 10));
    cr_assert_eq(submit_reply_decode(buffer_span(&out), &got, &arena, &fault), STATUS_OK);
    cr_assert_eq(got.status, STATUS_OVERLOADED);
    cr_assert_eq(got.retry_after_s, 9);
    cr_assert_eq(got.param.size, 0);
}

/* --- what must not come in ---------------------------------------------------------- */

static int append(void *data, const char *bytes, size_t size)
{
    buffer_append(data, bytes, size);
    return 0;
}

static void text(msgpack_packer *packer, const char *value)
{
    msgpack_pack_str(packer, strlen(value));
    msgpack_pack_str_body(packer, value, strlen(value));
}

static enum status beat(struct span bytes)
{
    struct beat_request got;
    return beat_request_decode(bytes, &got, &arena, &fault);
}

/* {op: beat, worker: 1, name: value}, and where wanted, another worker. */
static void pack_beat(const char *name, int64_t value, bool twice)
{
    msgpack_packer packer;
    buffer_clear(&out);
    msgpack_packer_init(&packer, &out, append);
    msgpack_pack_map(&packer, twice ? 4 : 3);
    text(&packer, "op");
    text(&packer, "beat");
    text(&packer, "worker");
    msgpack_pack_int64(&packer, 1);
    if (twice) {
        text(&packer, "worker");
        msgpack_pack_int64(&packer, 1);
    }
    text(&packer, name);
    msgpack_pack_int64(&packer, value);
}

Test(message, missing_unknown_and_repeated_fields_are_named)
{
    pack_beat("generation", 1, false);
    cr_assert_eq(beat(buffer_span(&out)), STATUS_OK, "%s", fault.sentence);
    pack_beat("colour", 1, false);
    cr_assert_eq(beat(buffer_span(&out)), STATUS_MALFORMED);
    cr_assert_str_eq(fault.sentence, "there is no field 'colour'");
    pack_beat("generation", 1, true);
    cr_assert_eq(beat(buffer_span(&out)), STATUS_MALFORMED);
    cr_assert_str_eq(fault.sentence, "field 'worker' is there twice");
    struct beat_reply reply = {STATUS_OK};
    buffer_clear(&out);
    beat_reply_encode(&reply, &out);
    cr_assert_eq(beat(buffer_span(&out)), STATUS_MALFORMED);
}

Test(message, numbers_out_of_range_are_named)
{
    pack_beat("generation", -1, false);
    cr_assert_eq(beat(buffer_span(&out)), STATUS_MALFORMED);
    cr_assert_str_eq(fault.param, "generation");
    pack_beat("generation", INT64_C(1) << 32, false);
    cr_assert_eq(beat(buffer_span(&out)), STATUS_MALFORMED);
    cr_assert_str_eq(fault.sentence,
                     "field 'generation' is 4294967296, at most 4294967295 is allowed");
}

Test(message, an_operation_that_is_not_the_messages_is_refused)
{
    struct drain_request drain = {.timeout_ms = 1};
    drain_request_encode(&drain, &out);
    cr_assert_eq(beat(buffer_span(&out)), STATUS_MALFORMED);
    enum message_op op;
    cr_assert_eq(message_op(SPAN_LITERAL("\x81\xa2op\xa3sum"), &op, &fault),
                 STATUS_MALFORMED);
    cr_assert_str_eq(fault.sentence, "there is no operation 'sum'");
    cr_assert_eq(message_op(SPAN_LITERAL("\x93\x01\x02\x03"), &op, &fault),
                 STATUS_MALFORMED);
}

Test(message, bytes_behind_a_message_are_refused)
{
    pack_beat("generation", 1, false);
    buffer_append_byte(&out, '\0');
    cr_assert_eq(beat(buffer_span(&out)), STATUS_MALFORMED);
    cr_assert_str_eq(fault.sentence, "bytes follow the beat_request");
}

/* A map, an array and a bin that claim 2^32 - 1 items in a few bytes. */
Test(message, a_claimed_length_is_not_believed)
{
    struct poll_request got;
    cr_assert_eq(
        poll_request_decode(SPAN_LITERAL("\xdf\xff\xff\xff\xff"), &got, &arena, &fault),
        STATUS_MALFORMED);
    cr_assert_eq(poll_request_decode(SPAN_LITERAL("\x81\xa7"
                                                  "cursors\xdd\xff\xff\xff\xff"),
                                     &got, &arena, &fault),
                 STATUS_MALFORMED);
    struct submit_request submit;
    cr_assert_eq(submit_request_decode(SPAN_LITERAL("\x81\xaf"
                                                    "prompt_tokens\xc6\xff\xff\xff\xff"),
                                       &submit, &arena, &fault),
                 STATUS_MALFORMED);
    cr_assert_eq(arena.capacity, 0);
}

Test(message, every_cut_of_a_message_is_refused)
{
    struct submit_request sent = full_submit(), got;
    submit_request_encode(&sent, &out);
    for (size_t size = 0; size < out.size; size++) {
        /* In memory of its own size, so that the sanitizer sees a read beyond it. */
        char *cut = malloc(size + (size == 0));
        memcpy(cut, out.data, size);
        cr_assert_eq(
            submit_request_decode((struct span){cut, size}, &got, &arena, &fault),
            STATUS_MALFORMED);
        free(cut);
    }
}

Test(message, changed_bytes_never_break_the_decoder)
{
    struct submit_request sent = full_submit(), got;
    submit_request_encode(&sent, &out);
    char *changed = malloc(out.size);
    for (size_t at = 0; at < out.size; at++) {
        for (int value = 0; value < 256; value += 5) {
            memcpy(changed, out.data, out.size);
            changed[at] = (char)value;
            enum status status = submit_request_decode((struct span){changed, out.size},
                                                       &got, &arena, &fault);
            cr_assert(status == STATUS_OK || status == STATUS_MALFORMED);
        }
    }
    free(changed);
}

Test(message, too_many_cursors_are_refused)
{
    static struct poll_cursor cursors[POLL_CURSORS_MAX + 1];
    struct poll_request sent = {.frontend = 1, .number = 1, .cursors = cursors}, got;
    for (int i = 0; i <= POLL_CURSORS_MAX; i++)
        cursors[i].id = SPAN_LITERAL("a");
    sent.cursors_count = POLL_CURSORS_MAX + 1;
    poll_request_encode(&sent, &out);
    cr_assert_eq(poll_request_decode(buffer_span(&out), &got, &arena, &fault),
                 STATUS_MALFORMED);
    cr_assert_str_eq(fault.sentence,
                     "field 'cursors' has 4097 items, at most 4096 are allowed");
}

Test(message, every_table_is_sound)
{
    for (int i = 0; i < MESSAGE_TABLES_COUNT; i++) {
        const struct message_table *table = message_tables[i];
        cr_assert_lt(table->fields_count, 64);
        for (uint32_t f = 0; f < table->fields_count; f++) {
            const struct message_field *field = &table->fields[f];
            cr_assert_lt(field->offset, table->struct_bytes);
            cr_assert_gt(strlen(field->meaning), 0);
            if (field->kind == WIRE_TEXT || field->kind == WIRE_BYTES)
                cr_assert_gt(field->bound, 0, "%s has no bound", field->name);
        }
    }
}
