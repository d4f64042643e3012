#include "tools/bench/answer.h"
#include <criterion/criterion.h>

#define MS UINT64_C(1000000)

struct script {
    struct answer answer;
    struct samples gaps;
};

static void begin(struct script *script)
{
    *script = (struct script){0};
    answer_begin(&script->answer, 1000 * MS);
}

static void event(struct script *script, uint64_t after_ms, const char *data)
{
    answer_event(&script->answer, span_of(data), (1000 + after_ms) * MS, &script->gaps);
}

#define USAGE(tokens)                                                                    \
    "{\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":" #tokens "}}"

Test(answer, the_first_token_is_the_first_text_not_the_role)
{
    struct script script;
    begin(&script);
    event(&script, 0,
          "{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}");
    event(&script, 500, "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}");
    event(&script, 510, "{\"choices\":[{\"delta\":{\"content\":\"\"}}]}");
    event(&script, 520, "{\"choices\":[{\"delta\":{\"content\":\"b\"}}]}");
    event(&script, 521, USAGE(10));
    event(&script, 522, "[DONE]");
    cr_assert_eq(script.answer.first_ns - script.answer.sent_ns, 500 * MS);
    cr_assert_eq(script.answer.last_ns - script.answer.sent_ns, 520 * MS);
    cr_assert_eq(script.answer.chunks_count, 2);
    cr_assert_eq(script.answer.completion_tokens, 10);
    cr_assert_eq(script.answer.prompt_tokens, 3);
    cr_assert_eq(script.gaps.count, 1);
    cr_assert_eq(script.gaps.values_ms[0], 20);
    cr_assert_eq(answer_verdict(&script.answer), FAILURE_NONE);
    samples_fini(&script.gaps);
}

Test(answer, two_events_of_one_read_share_a_time)
{
    struct script script;
    begin(&script);
    event(&script, 7, "{\"choices\":[{\"text\":\"a\"}]}");
    event(&script, 7, "{\"choices\":[{\"text\":\"b\"}]}");
    cr_assert_eq(script.gaps.values_ms[0], 0);
    samples_fini(&script.gaps);
}

Test(answer, usage_that_comes_first_is_no_token)
{
    struct script script;
    begin(&script);
    event(&script, 0, USAGE(2));
    cr_assert_eq(script.answer.first_ns, 0);
    event(&script, 9, "{\"choices\":[{\"text\":\"a\"}]}");
    event(&script, 9, "[DONE]");
    cr_assert_eq(script.answer.first_ns, 1009 * MS);
    cr_assert_eq(answer_verdict(&script.answer), FAILURE_NONE);
    samples_fini(&script.gaps);
}

Test(answer, reasoning_and_tool_calls_are_text)
{
    struct script script;
    begin(&script);
    event(&script, 1, "{\"choices\":[{\"delta\":{\"reasoning_content\":\"a\"}}]}");
    event(&script, 2, "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0}]}}]}");
    cr_assert_eq(script.answer.chunks_count, 2);
    samples_fini(&script.gaps);
}

Test(answer, every_failure_has_its_class)
{
    static const struct {
        const char *events[3];
        enum failure failure;
    } cases[] = {
        {{"{\"choices\":[{\"text\":\"a\"}]}"}, FAILURE_CUT},
        {{USAGE(0), "[DONE]"}, FAILURE_EMPTY},
        {{"[DONE]"}, FAILURE_EMPTY},
        {{"{\"choices\":[{\"text\":\"a\"}]}", "[DONE]"}, FAILURE_NO_USAGE},
        {{"{\"choices\":[{\"text\":\"a\"}]}", "{\"error\":{\"message\":\"x\"}}",
          "[DONE]"},
         FAILURE_STREAM_ERROR},
        {{"{\"choices\":", "[DONE]"}, FAILURE_MALFORMED},
        {{"3", "[DONE]"}, FAILURE_MALFORMED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct script script;
        begin(&script);
        for (size_t e = 0; e < 3 && cases[i].events[e] != NULL; e++)
            event(&script, e, cases[i].events[e]);
        cr_assert_eq(answer_verdict(&script.answer), cases[i].failure, "case %zu", i);
        samples_fini(&script.gaps);
    }
}

Test(answer, http_statuses_have_their_classes)
{
    cr_assert_eq(failure_of_http(429), FAILURE_OVERLOADED);
    cr_assert_eq(failure_of_http(503), FAILURE_OVERLOADED);
    cr_assert_eq(failure_of_http(500), FAILURE_SERVER);
    cr_assert_eq(failure_of_http(404), FAILURE_REFUSED);
    cr_assert_eq(failure_of_http(301), FAILURE_REFUSED);
}
