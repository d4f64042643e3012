/* Tokens to text to JSON: one state machine for both endpoints, streaming or not. */
#include "frontend/core/answer.h"
#include <criterion/criterion.h>

enum {
    UNKNOWN,
    END,
    AB,
    C,
    ABC,
    QUESTION,
    SPACE_X,
    BYTE_F0,
    BYTE_9F,
    BYTE_98,
    BYTE_80,
    TOKENS
};

static const struct span texts[TOKENS] = {
    [UNKNOWN] = {"<unk>", 5},
    [END] = {"</s>", 4},
    [AB] = {"ab", 2},
    [C] = {"c", 1},
    [ABC] = {"abc", 3},
    [QUESTION] = {"?\n", 2},
    [SPACE_X] = {"\xE2\x96\x81x", 4},
    [BYTE_F0] = {"<0xF0>", 6},
    [BYTE_9F] = {"<0x9F>", 6},
    [BYTE_98] = {"<0x98>", 6},
    [BYTE_80] = {"<0x80>", 6},
};
static const float scores[TOKENS];
static const int32_t types[TOKENS] = {
    TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_NORMAL, TOKEN_NORMAL, TOKEN_NORMAL, TOKEN_NORMAL,
    TOKEN_NORMAL,  TOKEN_BYTE,    TOKEN_BYTE,   TOKEN_BYTE,   TOKEN_BYTE};

static struct tokenizer *tokenizer;
static struct generation generation;
static struct buffer out;

static void open_tokenizer(void)
{
    struct fault fault;
    struct tokenizer_description description = {.model = "llama",
                                                .tokens_count = TOKENS,
                                                .tokens = texts,
                                                .scores = scores,
                                                .token_types = types,
                                                .bos = TOKEN_NONE,
                                                .eos = END,
                                                .unknown = UNKNOWN};
    cr_assert_eq(tokenizer_create(&tokenizer, &description, &fault), STATUS_OK, "%s",
                 fault.sentence);
    buffer_init(&out, 1 << 20);
}

static void close_tokenizer(void)
{
    generation_fini(&generation);
    buffer_fini(&out);
    tokenizer_destroy(tokenizer);
}

TestSuite(answer, .init = open_tokenizer, .fini = close_tokenizer);

static void begin(struct answer_format format, uint32_t choices_count)
{
    format.choices_per_prompt = format.choices_per_prompt ? format.choices_per_prompt : 1;
    format.created_unix_s = 7;
    format.id = SPAN_LITERAL("id");
    format.model = SPAN_LITERAL("m");
    cr_assert(generation_init(&generation, tokenizer, &format, choices_count));
}

#define TOKENS_OF(...)                                                                   \
    ((const uint32_t[]){__VA_ARGS__}), sizeof((uint32_t[]){__VA_ARGS__})

static enum take_result take(uint32_t index, uint32_t from, enum finish_reason reason,
                             const uint32_t *tokens, size_t size)
{
    struct poll_event event = {.choice = index,
                               .from = from,
                               .tokens = {(const char *)tokens, size},
                               .state =
                                   reason == FINISH_NONE ? REQUEST_DECODE : REQUEST_DONE,
                               .finish_reason = reason,
                               .failure = STATUS_INTERNAL,
                               .sentence = SPAN_LITERAL("it broke"),
                               .prompt_tokens_count = 4,
                               .cached_tokens_count = 1};
    return generation_take(&generation, index, &event);
}

static void check_text(uint32_t index, const char *wanted)
{
    struct span text = buffer_span(&generation.choices[index].text);
    cr_assert(span_equal(text, span_of(wanted)), "'%.*s', wanted '%s'", (int)text.size,
              text.data ? text.data : "", wanted);
}

static void check_out(const char *wanted)
{
    cr_assert(span_equal(buffer_span(&out), span_of(wanted)), "got\n%.*s\nwanted\n%s",
              (int)out.size, out.data, wanted);
    buffer_clear(&out);
}

static struct answer_format stopping_at(const char *first, const char *second)
{
    struct answer_format format = {.kind = ANSWER_COMPLETION,
                                   .stops_count = second ? 2 : 1};
    format.stops[0] = span_of(first);
    if (second)
        format.stops[1] = span_of(second);
    return format;
}

Test(answer, tokens_told_twice_are_taken_once)
{
    begin((struct answer_format){.kind = ANSWER_COMPLETION}, 1);
    cr_assert_eq(take(0, 0, FINISH_NONE, TOKENS_OF(AB, C)), TAKE_NEWS);
    cr_assert_eq(take(0, 0, FINISH_NONE, TOKENS_OF(AB, C)), TAKE_NOTHING);
    cr_assert_eq(take(0, 1, FINISH_NONE, TOKENS_OF(C, AB)), TAKE_NEWS);
    check_text(0, "abcab");
    cr_assert_eq(take(0, 4, FINISH_NONE, TOKENS_OF(AB)), TAKE_OUT_OF_STEP);
    cr_assert_eq(take(0, 3, FINISH_LENGTH, TOKENS_OF(AB)), TAKE_NEWS);
    check_text(0, "abcabab");
    cr_assert(generation_finished(&generation));
}

Test(answer, the_token_that_completes_a_stop_counts_and_nothing_after_it)
{
    begin(stopping_at("bcab", NULL), 1);
    cr_assert_eq(take(0, 0, FINISH_NONE, TOKENS_OF(AB)), TAKE_NEWS);
    check_text(0, "a"); /* what may begin the stop is held back */
    cr_assert_eq(take(0, 1, FINISH_NONE, TOKENS_OF(C, AB, C, C)), TAKE_STOPPED);
    check_text(0, "a");
    cr_assert_eq(generation.choices[0].tokens_count, 3);
    cr_assert_eq(generation.choices[0].finish_reason, FINISH_STOP);
    cr_assert_eq(take(0, 3, FINISH_STOP, TOKENS_OF(C)), TAKE_NOTHING);
    cr_assert_eq(generation.choices[0].tokens_count, 3);
}

Test(answer, text_before_a_stop_within_a_token_is_kept)
{
    begin(stopping_at("\n", NULL), 1);
    cr_assert_eq(take(0, 0, FINISH_NONE, TOKENS_OF(QUESTION)), TAKE_STOPPED);
    check_text(0, "?");
}

Test(answer, a_stop_that_the_end_cuts_off_was_text)
{
    begin(stopping_at("bcx", "cq"), 1);
    cr_assert_eq(take(0, 0, FINISH_LENGTH, TOKENS_OF(AB, C)), TAKE_NEWS);
    check_text(0, "abc");
    cr_assert_eq(generation.choices[0].finish_reason, FINISH_LENGTH);
}

Test(answer, a_stop_with_the_last_token_needs_no_cancel)
{
    begin(stopping_at("c", NULL), 1);
    cr_assert_eq(take(0, 0, FINISH_LENGTH, TOKENS_OF(AB, C)), TAKE_NEWS);
    check_text(0, "ab");
    cr_assert_eq(generation.choices[0].finish_reason, FINISH_STOP);
}

Test(answer, an_end_token_counts_and_shows_nothing)
{
    begin((struct answer_format){.kind = ANSWER_COMPLETION}, 1);
    take(0, 0, FINISH_STOP, TOKENS_OF(AB, ABC));
    check_text(0, "ab");
    cr_assert_eq(generation.choices[0].tokens_count, 2);
}

Test(answer, characters_are_whole_or_replaced_once)
{
    begin((struct answer_format){.kind = ANSWER_COMPLETION}, 2);
    take(0, 0, FINISH_NONE, TOKENS_OF(BYTE_F0, BYTE_9F, BYTE_98));
    check_text(0, "");
    take(0, 3, FINISH_LENGTH, TOKENS_OF(BYTE_80));
    check_text(0, "\xF0\x9F\x98\x80");
    take(1, 0, FINISH_LENGTH, TOKENS_OF(AB, BYTE_F0, BYTE_9F));
    check_text(1, "ab\xEF\xBF\xBD");
}

/* --- whole answers ----------------------------------------------------------------- */

Test(answer, a_whole_completion_is_openais)
{
    begin((struct answer_format){.kind = ANSWER_COMPLETION, .choices_per_prompt = 2}, 4);
    for (uint32_t index = 0; index < 4; index++)
        take(index, 0, index ? FINISH_LENGTH : FINISH_STOP, TOKENS_OF(QUESTION, C));
    answer_whole(&out, &generation);
    check_out(
        "{\"id\":\"id\",\"object\":\"text_completion\",\"created\":7,\"model\":\"m\","
        "\"choices\":["
        "{\"index\":0,\"text\":\"?\\n\",\"logprobs\":null,\"finish_reason\":\"stop\"},"
        "{\"index\":1,\"text\":\"?\\nc\",\"logprobs\":null,\"finish_reason\":"
        "\"length\"},"
        "{\"index\":2,\"text\":\"?\\nc\",\"logprobs\":null,\"finish_reason\":"
        "\"length\"},"
        "{\"index\":3,\"text\":\"?\\nc\",\"logprobs\":null,\"finish_reason\":"
        "\"length\"}],"
        "\"usage\":{\"prompt_tokens\":8,\"completion_tokens\":8,\"total_tokens\":16,"
        "\"prompt_tokens_details\":{\"cached_tokens\":2}}}");
}

static void take_with_logprobs(uint32_t index, enum finish_reason reason)
{
    static const uint32_t tokens[] = {SPACE_X, BYTE_F0};
    static const struct logprob logprobs[] = {
        {SPACE_X, -0.5f}, {AB, -0.25f}, {BYTE_F0, -__builtin_inff()}, {BYTE_F0, -1.0f}};
    struct poll_event event = {.choice = index,
                               .tokens = {(const char *)tokens, sizeof tokens},
                               .logprobs = {(const char *)logprobs, sizeof logprobs},
                               .logprobs_per_token = 2,
                               .state = REQUEST_DONE,
                               .finish_reason = reason};
    generation_take(&generation, index, &event);
}

Test(answer, logprobs_of_a_completion_are_parallel_arrays)
{
    begin((struct answer_format){.kind = ANSWER_COMPLETION,
                                 .logprobs = true,
                                 .top_logprobs = 1},
          1);
    generation_echo(&generation, 0, SPAN_LITERAL("\xC3\xA9"));
    take_with_logprobs(0, FINISH_LENGTH);
    answer_logprobs(&out, &generation, &generation.choices[0]);
    check_out("{\"tokens\":[\" x\",\"bytes:\\\\xf0\"],\"token_logprobs\":[-0.5,-9999],"
              "\"top_logprobs\":[{\"ab\":-0.25,\" x\":-0.5},{\"bytes:\\\\xf0\":-1}],"
              "\"text_offset\":[1,3]}");
}

Test(answer, logprobs_of_a_chat_have_bytes)
{
    begin(
        (struct answer_format){.kind = ANSWER_CHAT, .logprobs = true, .top_logprobs = 1},
        1);
    take_with_logprobs(0, FINISH_LENGTH);
    answer_whole(&out, &generation);
    check_out(
        "{\"id\":\"id\",\"object\":\"chat.completion\",\"created\":7,\"model\":\"m\","
        "\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
        "\" x\xEF\xBF\xBD\",\"refusal\":null},\"logprobs\":{\"content\":["
        "{\"token\":\" x\",\"logprob\":-0.5,\"bytes\":[32,120],\"top_logprobs\":["
        "{\"token\":\"ab\",\"logprob\":-0.25,\"bytes\":[97,98]}]},"
        "{\"token\":\"\xEF\xBF\xBD\",\"logprob\":-9999,\"bytes\":[240],"
        "\"top_logprobs\":[{\"token\":\"\xEF\xBF\xBD\",\"logprob\":-1,\"bytes\":[240]}"
        "]}],\"refusal\":null},\"finish_reason\":\"length\"}],"
        "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":2,\"total_tokens\":2,"
        "\"prompt_tokens_details\":{\"cached_tokens\":0}}}");
}

/* --- streams ----------------------------------------------------------------------- */

#define CHUNK(object, choices, rest)                                                     \
    "data: {\"id\":\"id\",\"object\":\"" object "\",\"created\":7,\"model\":\"m\","      \
    "\"choices\":[" choices "]" rest "}\n\n"
#define CHAT_CHUNK(choices, rest) CHUNK("chat.completion.chunk", choices, rest)

Test(answer, a_chat_stream_is_role_text_finish_usage_done)
{
    begin((struct answer_format){.kind = ANSWER_CHAT,
                                 .stream = true,
                                 .include_usage = true},
          1);
    answer_stream_begin(&out, &generation);
    take(0, 0, FINISH_NONE, TOKENS_OF(AB));
    answer_stream_choice(&out, &generation, 0);
    answer_stream_choice(&out, &generation, 0); /* nothing new: no event */
    take(0, 1, FINISH_STOP, TOKENS_OF(C, END));
    answer_stream_choice(&out, &generation, 0);
    answer_stream_choice(&out, &generation, 0);
    answer_stream_end(&out, &generation);
    check_out(
        CHAT_CHUNK("{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
                   "\"logprobs\":null,\"finish_reason\":null}",
                   ",\"usage\":null")
            CHAT_CHUNK("{\"index\":0,\"delta\":{\"content\":\"ab\"},\"logprobs\":null,"
                       "\"finish_reason\":null}",
                       ",\"usage\":null")
                CHAT_CHUNK("{\"index\":0,\"delta\":{\"content\":\"c\"},\"logprobs\":null,"
                           "\"finish_reason\":\"stop\"}",
                           ",\"usage\":null")
                    CHAT_CHUNK("",
                               ",\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":3,"
                               "\"total_tokens\":7,\"prompt_tokens_details\":"
                               "{\"cached_tokens\":1}}") "data: [DONE]\n\n");
}

Test(answer, a_failure_in_a_stream_is_an_event_before_done)
{
    begin((struct answer_format){.kind = ANSWER_COMPLETION, .stream = true}, 1);
    answer_stream_begin(&out, &generation);
    take(0, 0, FINISH_FAILED, TOKENS_OF(AB));
    answer_stream_choice(&out, &generation, 0);
    answer_stream_end(&out, &generation);
    check_out(
        CHUNK("text_completion",
              "{\"index\":0,\"text\":\"ab\",\"logprobs\":null,\"finish_reason\":"
              "\"error\"}",
              "") "data: {\"error\":{\"message\":\"it broke\",\"type\":\"server_error\","
                  "\"param\":null,\"code\":\"internal_error\"}}\n\n"
                  "data: [DONE]\n\n");
}
