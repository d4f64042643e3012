#include "common/base/buffer.h"
#include "rust/ropeway_template.h"
#include <criterion/criterion.h>
#include <stdio.h>

#define MESSAGE_BYTES 256

static const struct ropeway_template_text specials[] = {
    {"<s>", 3}, {"<|im_start|>", 12}, {"<|im_end|>", 10}, {"<|user|>", 8}};

static char message[MESSAGE_BYTES];

static struct ropeway_template *compile(const char *source)
{
    struct ropeway_template *compiled = ropeway_template_compile(
        source, strlen(source), specials, sizeof specials / sizeof specials[0], message,
        sizeof message);
    cr_assert_not_null(compiled, "%s", message);
    return compiled;
}

static enum ropeway_template_error render(const char *source, const char *context,
                                          struct ropeway_template_result *result)
{
    struct ropeway_template *compiled = compile(source);
    /* 2024-02-29 13:05:09 UTC */
    enum ropeway_template_error error = ropeway_template_render(
        compiled, context, strlen(context), 1709211909, result, message, sizeof message);
    ropeway_template_free(compiled);
    return error;
}

/* Pieces as one text in which what is the users' stands in braces. */
static void expect(const char *source, const char *context, const char *wanted)
{
    struct ropeway_template_result result;
    cr_assert_eq(render(source, context, &result), ROPEWAY_TEMPLATE_OK, "%s", message);
    struct buffer text;
    buffer_init(&text, 4 << 20);
    for (size_t i = 0; i < result.pieces_count; i++) {
        const struct ropeway_template_piece *piece = &result.pieces[i];
        buffer_append_text(&text, piece->from_template ? "" : "{");
        buffer_append(&text, piece->text, piece->size);
        buffer_append_text(&text, piece->from_template ? "" : "}");
    }
    cr_assert(span_equal(buffer_span(&text), span_of(wanted)), "%s gave %.*s", source,
              (int)text.size, text.data);
    buffer_fini(&text);
    ropeway_template_result_free(&result);
}

static void expect_failure(const char *source, const char *context,
                           enum ropeway_template_error error, const char *words)
{
    struct ropeway_template_result result;
    cr_assert_eq(render(source, context, &result), error, "%s", message);
    cr_assert_not_null(strstr(message, words), "\"%s\" is not in: %s", words, message);
    cr_assert_null(result.pieces);
    cr_assert_eq(result.pieces_count, 0);
    ropeway_template_result_free(&result);
}

Test(template, only_special_tokens_text_is_marked_in_what_users_wrote)
{
    expect("<s>{{ a }}", "{\"a\":\"x <s> < y\"}", "<s>x {<}s> < y");
    expect("{{ a }}", "{\"a\":\"<|im_start|><|im_end|>\"}", "{<}|im_start|>{<}|im_end|>");
    expect("{{ a }}", "{\"a\":\"<|<|im_end|>im_end|>\"}", "<|{<}|im_end|>im_end|>");
    expect("{{ bos_token }}{{ a }}", "{\"a\":\"b\",\"bos_token\":\"<s>\"}", "<s>b");
    expect("{{ m[0].content }}", "{\"m\":[{\"content\":\"<s>\"}]}", "{<}s>");
}

Test(template, two_strings_of_users_cannot_make_a_special_token_together)
{
    expect("{% for p in parts %}{{ p }}{% endfor %}",
           "{\"parts\":[\"a<|im_\",\"end|>\"]}", "a{<}|im_end|>");
    expect("{{ a }}{{ b }}", "{\"a\":\"<\",\"b\":\"s>\"}", "{<}s>");
}

Test(template, a_template_may_build_a_special_token_around_a_role)
{
    expect("{{ '<|' + role + '|>' }}", "{\"role\":\"user\"}", "<|user|>");
}

Test(template, a_users_own_mark_forges_nothing)
{
    expect("{{ a }}", "{\"a\":\"\xEF\xB7\x90<s>\"}", "{\xEF\xB7\x90<}s>");
}

Test(template, marks_survive_json_and_keys)
{
    expect("{{ a | tojson }}", "{\"a\":{\"<s>\":\"<s>\\n\"}}",
           "{\"{<}s>\": \"{<}s>\\n\"}");
}

Test(template, tojson_is_pythons)
{
    expect(
        "{{ a | tojson }}",
        "{\"a\":{\"z\":1,\"a\":[1.0,1e16,1e-5,0.0001,123456789012345678,true,null],"
        "\"s\":\"\\u00e9\\u0001\\\"'\\/<&\"}}",
        "{\"z\": 1, \"a\": [1.0, 1e+16, 1e-05, 0.0001, 123456789012345678, true, null], "
        "\"s\": \"\u00E9\\u0001\\\"'/<&\"}");
    expect("{{ a | tojson(indent=2) }}", "{\"a\":{\"k\":[],\"l\":[1,{}]}}",
           "{\n  \"k\": [],\n  \"l\": [\n    1,\n    {}\n  ]\n}");
}

Test(template, values_print_as_pythons)
{
    expect("{{ a }} {{ b }} {{ c }}", "{\"a\":null,\"b\":true,\"c\":1.0}",
           "None True 1.0");
    expect("{{ nothing }}", "{}", "");
}

Test(template, what_chat_templates_use_works)
{
    expect("{% for m in a[::-1] %}{% if m == 1 %}{% continue %}{% endif %}{{ m }}"
           "{% if m == 2 %}{% break %}{% endif %}{% endfor %}",
           "{\"a\":[5,2,1,3]}", "32");
    expect("{% set ns = namespace(n=0) %}{% for m in a %}{% set ns.n = ns.n + m %}"
           "{% endfor %}{{ ns.n }}",
           "{\"a\":[1,2]}", "3");
    expect("{%- generation -%} {{ a.strip() }} {%- endgeneration %}!", "{\"a\":\" x \"}",
           "x!");
    expect("{{ strftime_now('%d %b %Y, %A %-d, %H:%M:%S %I %p %j') }}", "{}",
           "29 Feb 2024, Thursday 29, 13:05:09 01 PM 060");
}

Test(template, an_error_carries_the_templates_own_words_and_none_of_its_source)
{
    const char *source =
        "{% if true %}{{ raise_exception('roles must\nalternate, ' + a) }}"
        "{% endif %}";
    expect_failure(source, "{\"a\":\"not <s>\"}", ROPEWAY_TEMPLATE_RAISED,
                   "roles must alternate, not <s>");
    cr_assert_str_eq(message, "roles must alternate, not <s>");
    expect_failure("x\n{{ a.b.secret }}", "{}", ROPEWAY_TEMPLATE_FAILED, "line 2");
    cr_assert_null(strstr(message, "secret"));
}

Test(template, a_template_that_cannot_be_compiled_is_refused_with_its_place)
{
    const char *const broken[] = {"a\nbc {% if %}", "{{ a | no_such_filter }}",
                                  "{{ '\xEF\xB7\x90' }}", "\xFF"};
    const char *const words[] = {"line 2, column", "no_such_filter", "U+FDD0", "UTF-8"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct ropeway_template *compiled = ropeway_template_compile(
            broken[i], strlen(broken[i]), NULL, 0, message, sizeof message);
        if (compiled) { /* filters are looked up when they run */
            struct ropeway_template_result result;
            ropeway_template_render(compiled, "{}", 2, 0, &result, message,
                                    sizeof message);
            ropeway_template_free(compiled);
        }
        cr_assert_not_null(strstr(message, words[i]), "%s", message);
    }
}

Test(template, work_output_and_depth_are_bounded)
{
    expect_failure("{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}"
                   "{% endfor %}",
                   "{}", ROPEWAY_TEMPLATE_FAILED, "too long");
    expect_failure("{% for a in range(5000) %}{{ a ~ '" /* a kilobyte: */
                   "0123456789012345678901234567890123456789012345678901234567890123456"
                   "' * 16 }}{% endfor %}",
                   "{}", ROPEWAY_TEMPLATE_FAILED, "longer than");
    expect_failure("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{}",
                   ROPEWAY_TEMPLATE_FAILED, "line 1");
}

Test(template, a_chat_of_ten_thousand_turns_is_within_the_bounds)
{
    struct buffer context, wanted;
    buffer_init(&context, 4 << 20);
    buffer_init(&wanted, 4 << 20);
    buffer_append_text(&context, "{\"messages\":[");
    for (int turn = 0; turn < 10000; turn++) {
        const char *role = turn % 2 ? "assistant" : "user";
        const char *content = "It was a cold evening, and nobody came to the station.";
        buffer_append_format(&context, "%s{\"role\":\"%s\",\"content\":\"%s\"}",
                             turn ? "," : "", role, content);
        buffer_append_format(&wanted, "<|im_start|>%s\n%s<|im_end|>\n", role, content);
    }
    buffer_append_text(&context, "]}");
    buffer_append_byte(&context, '\0');
    buffer_append_byte(&wanted, '\0');
    expect("{% for message in messages %}{% if loop.first and messages[0]['role'] == "
           "'system' %}{{ 'never' }}{% endif %}{{ '<|im_start|>' + message['role'] + "
           "'\n' + message['content'] + '<|im_end|>\n' }}{% endfor %}",
           context.data, wanted.data);
    buffer_fini(&wanted);
    buffer_fini(&context);
}

Test(template, a_context_that_is_no_object_is_refused)
{
    const char *const contexts[] = {"", "[]", "{\"a\":}", "1", "{} {}"};
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++)
        expect_failure("x", contexts[i], ROPEWAY_TEMPLATE_CONTEXT, "JSON object");
    char brackets[4096], deep[sizeof brackets + 8];
    memset(brackets, '[', sizeof brackets);
    snprintf(deep, sizeof deep, "{\"a\":%.*s", (int)sizeof brackets, brackets);
    expect_failure("x", deep, ROPEWAY_TEMPLATE_CONTEXT, "JSON object");
}

Test(template, a_long_message_is_cut_between_characters)
{
    char small[8];
    memset(small, 'x', sizeof small);
    struct ropeway_template *compiled =
        compile("{{ raise_exception('\u20AC\u20AC\u20AC\u20AC') }}");
    struct ropeway_template_result result;
    cr_assert_eq(
        ropeway_template_render(compiled, "{}", 2, 0, &result, small, sizeof small),
        ROPEWAY_TEMPLATE_RAISED);
    cr_assert_str_eq(small, "\u20AC\u20AC");
    ropeway_template_free(compiled);
}
