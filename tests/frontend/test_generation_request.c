/* Every parameter's bounds: what is taken, what is refused and which field is named. */
#include "frontend/core/generation_request.h"

#include "frontend/core/json_body.h"
#include <criterion/criterion.h>

static const struct request_limits limits = {.model_name = "m", .vocabulary_count = 1000};

static enum status read(enum answer_kind kind, const char *body,
                        struct generation_request *request, struct fault *fault)
{
    json_t *root;
    memset(request, 0, sizeof *request);
    memset(fault, 0, sizeof *fault);
    enum status status = json_body_parse(span_of(body), &root, fault);
    if (status != STATUS_OK)
        return status;
    return generation_request_read(request, kind, root, &limits, fault);
}

struct refusal {
    const char *body;
    enum status status;
    const char *param;
};

static void check_refusals(enum answer_kind kind, const struct refusal *rows,
                           size_t count)
{
    for (size_t row = 0; row < count; row++) {
        struct generation_request request;
        struct fault fault;
        enum status status = read(kind, rows[row].body, &request, &fault);
        cr_expect_eq(status, rows[row].status, "%s: %s", rows[row].body, fault.sentence);
        cr_expect_str_eq(fault.param, rows[row].param, "%s", rows[row].body);
        generation_request_fini(&request);
    }
}

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
#define P           "{\"prompt\":\"a\","
#define BAD(fields, param)                                                               \
    {                                                                                    \
        P fields "}", STATUS_INVALID, param                                              \
    }

Test(generation_request, numbers_out_of_range_are_refused_by_name)
{
    static const struct refusal rows[] = {
        BAD("\"temperature\":-1", "temperature"),
        BAD("\"temperature\":2.01", "temperature"),
        BAD("\"temperature\":\"1\"", "temperature"),
        BAD("\"top_p\":0", "top_p"),
        BAD("\"top_p\":1.0001", "top_p"),
        BAD("\"top_p\":1e-60", "top_p"),
        BAD("\"min_p\":-1", "min_p"),
        BAD("\"top_k\":-2", "top_k"),
        BAD("\"top_k\":1.5", "top_k"),
        BAD("\"repetition_penalty\":0", "repetition_penalty"),
        BAD("\"repetition_penalty\":1e-38", "repetition_penalty"),
        BAD("\"frequency_penalty\":3", "frequency_penalty"),
        BAD("\"presence_penalty\":-2.5", "presence_penalty"),
        BAD("\"seed\":1.5", "seed"),
        BAD("\"seed\":-1", "seed"),
        BAD("\"seed\":9223372036854775808", "seed"),
        BAD("\"seed\":18446744073709551616,\"top_k\":3,\"n\":1", "seed"),
        BAD("\"max_tokens\":0", "max_tokens"),
        BAD("\"max_tokens\":-5", "max_tokens"),
        BAD("\"max_tokens\":1e20", "max_tokens"),
        BAD("\"max_tokens\":\"10\"", "max_tokens"),
        BAD("\"max_tokens\":true", "max_tokens"),
        BAD("\"n\":0", "n"),
        BAD("\"n\":5000000", "n"),
        BAD("\"n\":1.5", "n"),
        BAD("\"best_of\":10000", "best_of"),
        BAD("\"logprobs\":1000000000", "logprobs"),
        BAD("\"logprobs\":true", "logprobs"),
        BAD("\"min_tokens\":5,\"max_tokens\":4", "min_tokens"),
        BAD("\"stream\":1", "stream"),
        BAD("\"echo\":\"yes\"", "echo"),
        BAD("\"priority\":1e11", "priority"),
        BAD("\"timeout\":0", "timeout"),
    };
    check_refusals(ANSWER_COMPLETION, rows, COUNT(rows));
}

Test(generation_request, structures_out_of_form_are_refused_by_name)
{
    static const struct refusal rows[] = {
        BAD("\"stop\":\"\"", "stop"),
        BAD("\"stop\":[\"\"]", "stop"),
        BAD("\"stop\":[null]", "stop"),
        BAD("\"stop\":7", "stop"),
        BAD("\"stop\":[\"a\",\"b\",\"c\",\"d\",\"e\"]", "stop"),
        BAD("\"logit_bias\":{\"AI\":-100}", "logit_bias"),
        BAD("\"logit_bias\":{\"1.5\":1}", "logit_bias"),
        BAD("\"logit_bias\":{\" 7\":1}", "logit_bias"),
        BAD("\"logit_bias\":{\"\":1}", "logit_bias"),
        BAD("\"logit_bias\":{\"7\":1,\"07\":1}", "logit_bias"),
        BAD("\"logit_bias\":{\"1000\":1}", "logit_bias"),
        BAD("\"logit_bias\":{\"7\":101}", "logit_bias"),
        BAD("\"logit_bias\":[]", "logit_bias"),
        BAD("\"stop_token_ids\":[1000]", "stop_token_ids"),
        BAD("\"stop_token_ids\":3", "stop_token_ids"),
        BAD("\"stream_options\":{}", "stream_options"),
        BAD("\"stream\":true,\"stream_options\":{\"include_usage\":1}", "stream_options"),
        BAD("\"user\":3", "user"),
        BAD("\"cache_salt\":\"\"", "cache_salt"),
        BAD("\"cache_salt\":7", "cache_salt"),
        BAD("\"model\":7", "model"),
        {P "\"model\":\"x\"}", STATUS_MODEL_NOT_FOUND, "model"},
        {P "\"n\":2,\"best_of\":3}", STATUS_UNSUPPORTED, "best_of"},
        {P "\"echo\":true,\"logprobs\":1}", STATUS_UNSUPPORTED, "echo"},
        {P "\"suffix\":\"x\"}", STATUS_UNSUPPORTED, "suffix"},
        {P "\"response_format\":{\"type\":\"json_object\"}}", STATUS_UNSUPPORTED,
         "response_format"},
    };
    check_refusals(ANSWER_COMPLETION, rows, COUNT(rows));
}

Test(generation_request, prompts_out_of_form_are_refused)
{
    static const struct refusal rows[] = {
        {"{}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":null}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":7}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":[]}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":[[]]}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":[\"a\",1]}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":[1,\"a\"]}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":[{}]}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":[1000]}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":[-1]}", STATUS_INVALID, "prompt"},
        {"{\"prompt\":[\"a\",\"b\"],\"n\":65}", STATUS_INVALID, "n"},
    };
    check_refusals(ANSWER_COMPLETION, rows, COUNT(rows));
}

Test(generation_request, bodies_that_are_no_json_object_quote_none_of_it)
{
    static const struct refusal rows[] = {
        {"", STATUS_MALFORMED, ""},
        {"[]", STATUS_MALFORMED, ""},
        {"{\"prompt\":NaN}", STATUS_MALFORMED, ""},
        {"{\"temperature\":1e999}", STATUS_MALFORMED, ""},
        {"{\"prompt\":\"\xC4\xE3\"}", STATUS_MALFORMED, ""},
        {"{\"prompt\":\"\xC0\x80\"}", STATUS_MALFORMED, ""},
        {"{\"prompt\":\"\\ud83d\"}", STATUS_MALFORMED, ""},
        {"{\"prompt\":\"a\",\"prompt\":\"b\"}", STATUS_MALFORMED, ""},
        {"{\"prompt\":\"a\"} x", STATUS_MALFORMED, ""},
    };
    check_refusals(ANSWER_COMPLETION, rows, COUNT(rows));
}

Test(generation_request, depth_is_bounded_and_brackets_in_strings_do_not_count)
{
    char body[2048];
    struct generation_request request;
    struct fault fault;
    size_t size = (size_t)snprintf(body, sizeof body, "{\"x\":");
    memset(body + size, '[', 1000);
    body[size + 1000] = '\0';
    cr_assert_eq(read(ANSWER_COMPLETION, body, &request, &fault), STATUS_MALFORMED);
    size = (size_t)snprintf(body, sizeof body, "{\"prompt\":\"\\\"");
    memset(body + size, '[', 1000);
    snprintf(body + size + 1000, 3, "\"}");
    cr_assert_eq(read(ANSWER_COMPLETION, body, &request, &fault), STATUS_OK);
    generation_request_fini(&request);
}

Test(generation_request, defaults_are_openais)
{
    struct generation_request request;
    struct fault fault;
    cr_assert_eq(
        read(ANSWER_COMPLETION, "{\"prompt\":\"a\",\"stop\":null}", &request, &fault),
        STATUS_OK);
    cr_assert_eq(request.sampling.temperature, 1.0f);
    cr_assert_eq(request.sampling.top_p, 1.0f);
    cr_assert_eq(request.sampling.repetition_penalty, 1.0f);
    cr_assert_eq(request.sampling.top_k, 0);
    cr_assert_eq(request.choices_per_prompt, 1);
    cr_assert_eq(request.max_tokens, 0);
    cr_assert_eq(request.stops_count, 0);
    cr_assert_not(request.has_seed || request.stream || request.echo);
    generation_request_fini(&request);
}

Test(generation_request, all_that_is_given_arrives)
{
    struct generation_request request;
    struct fault fault;
    const char *body =
        "{\"model\":\"m\",\"prompt\":[[1,2],[3]],\"temperature\":0.5,\"top_p\":0.9,"
        "\"top_k\":-1,\"min_p\":0.1,\"seed\":9223372036854775807,\"n\":3,"
        "\"max_tokens\":7.0,\"stop\":[\"x\",\"yz\"],\"stop_token_ids\":[5],"
        "\"logit_bias\":{\"7\":-100,\"8\":2.5},\"logprobs\":2,\"stream\":true,"
        "\"stream_options\":{\"include_usage\":true},\"ignore_eos\":true,"
        "\"min_tokens\":2,\"priority\":-4,\"cache_salt\":\"s\\u0000t\",\"timeout\":1.5,"
        "\"made_up\":{\"a\":[]}}";
    cr_assert_eq(read(ANSWER_COMPLETION, body, &request, &fault), STATUS_OK, "%s",
                 fault.sentence);
    cr_assert_eq(request.prompts_count, 2);
    cr_assert_eq(request.prompts[0].tokens_count, 2);
    cr_assert_eq(request.prompts[1].tokens[0], 3);
    cr_assert_eq(request.sampling.temperature, 0.5f);
    cr_assert_eq(request.sampling.top_k, 0);
    cr_assert_eq(request.sampling.seed, (uint64_t)INT64_MAX);
    cr_assert_eq(request.max_tokens, 7);
    cr_assert_eq(request.stops_count, 2);
    cr_assert(span_equal(request.stops[1], SPAN_LITERAL("yz")));
    cr_assert_eq(request.stop_tokens[0], 5);
    cr_assert_eq(request.biases_count, 2);
    cr_assert_eq(request.sampling.logprobs, 1);
    cr_assert_eq(request.sampling.top_logprobs, 2);
    cr_assert(request.stream && request.include_usage && request.sampling.ignore_end);
    cr_assert_eq(request.priority, -4);
    cr_assert(span_equal(request.cache_salt, (struct span){"s\0t", 3}));
    cr_assert_eq(request.timeout_ms, 1500);
    generation_request_fini(&request);
}

#define CHAT "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],"

Test(generation_request, chats_have_fields_of_their_own)
{
    static const struct refusal rows[] = {
        {"{}", STATUS_INVALID, "messages"},
        {"{\"messages\":[]}", STATUS_INVALID, "messages"},
        {"{\"messages\":[7]}", STATUS_INVALID, "messages[0]"},
        {"{\"messages\":[{\"content\":\"a\"}]}", STATUS_INVALID, "messages[0]"},
        {"{\"messages\":[{\"role\":\"user\"}]}", STATUS_INVALID, "messages[0]"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":7}]}", STATUS_INVALID,
         "messages[0]"},
        {"{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]}]}",
         STATUS_INVALID, "messages[0]"},
        {CHAT "\"logprobs\":3}", STATUS_INVALID, "logprobs"},
        {CHAT "\"top_logprobs\":5}", STATUS_INVALID, "top_logprobs"},
        {CHAT "\"logprobs\":true,\"top_logprobs\":21}", STATUS_INVALID, "top_logprobs"},
        {CHAT "\"max_completion_tokens\":0}", STATUS_INVALID, "max_completion_tokens"},
        {CHAT "\"tools\":{}}", STATUS_INVALID, "tools"},
        {CHAT "\"tool_choice\":\"required\"}", STATUS_UNSUPPORTED, "tool_choice"},
        {CHAT "\"continue_final_message\":true}", STATUS_UNSUPPORTED,
         "continue_final_message"},
    };
    check_refusals(ANSWER_CHAT, rows, COUNT(rows));
}

Test(generation_request, the_newer_name_of_max_tokens_wins)
{
    struct generation_request request;
    struct fault fault;
    cr_assert_eq(read(ANSWER_CHAT, CHAT "\"max_tokens\":5,\"max_completion_tokens\":9}",
                      &request, &fault),
                 STATUS_OK);
    cr_assert_eq(request.max_tokens, 9);
    generation_request_fini(&request);
}
