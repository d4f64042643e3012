#include "tools/bench/options.h"
#include "tools/bench/prompt.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ARGUMENTS_MAX 8

static enum status parse(struct bench_options *options, const char *const *arguments)
{
    char *argv[ARGUMENTS_MAX + 2] = {"bench"};
    int argc = 1;
    struct fault fault = {.sentence = ""};
    bool exit_now = false;
    for (; arguments[argc - 1] != NULL; argc++)
        argv[argc] = (char *)arguments[argc - 1];
    enum status status = bench_options_parse(options, argc, argv, &exit_now, &fault);
    cr_assert_eq(status == STATUS_OK, fault.sentence[0] == '\0', "%s", fault.sentence);
    return status;
}

#define PARSE(options, ...) parse(options, (const char *const[]){__VA_ARGS__, NULL})

Test(bench_options, a_url_has_host_port_and_path)
{
    struct bench_options options;
    cr_assert_eq(PARSE(&options, "http://127.0.0.1:8080"), STATUS_OK);
    cr_assert_str_eq(options.host, "127.0.0.1");
    cr_assert_str_eq(options.port, "8080");
    cr_assert_str_eq(options.path, "");
    cr_assert_eq(PARSE(&options, "http://[::1]:9/a/b//"), STATUS_OK);
    cr_assert_str_eq(options.host, "::1");
    cr_assert_str_eq(options.authority, "[::1]:9");
    cr_assert_str_eq(options.path, "/a/b");
    cr_assert_eq(PARSE(&options, "http://name"), STATUS_OK);
    cr_assert_str_eq(options.port, "80");
}

Test(bench_options, urls_that_are_none_are_refused)
{
    static const char *const urls[] = {
        "https://127.0.0.1", "127.0.0.1:8080",     "http://",         "http://:80",
        "http://a:b",        "http://a:123456",    "http://a b",      "http://a/?q",
        "http://[::1",       "http://u@127.0.0.1", "http://a\r\nX:y", "http://a:"};
    struct bench_options options;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++)
        cr_assert_eq(PARSE(&options, urls[i]), STATUS_INVALID, "%s", urls[i]);
}

Test(bench_options, numbers_have_bounds)
{
    struct bench_options options;
    cr_assert_eq(PARSE(&options, "http://a", "--requests", "7", "--seed", "4294967295"),
                 STATUS_OK);
    cr_assert_eq(options.requests_count, 7);
    cr_assert_eq(options.seed, UINT32_MAX);
    static const char *const values[] = {"0", "-1", "x", "", "1e3", "99999999999", " 1"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        cr_assert_eq(PARSE(&options, "http://a", "--requests", values[i]), STATUS_INVALID,
                     "%s", values[i]);
    cr_assert_eq(
        PARSE(&options, "http://a", "--requests", "10000000", "--max-tokens", "1000000"),
        STATUS_INVALID);
    cr_assert_eq(PARSE(&options, "http://a", "--nonsense"), STATUS_INVALID);
    cr_assert_eq(PARSE(&options, "--json"), STATUS_INVALID);
}

static void write_request(struct bench_options *options, uint32_t number,
                          struct buffer *out)
{
    buffer_init(out, prompt_request_bytes_max(options));
    prompt_write_request(options, number, out);
    buffer_append_byte(out, '\0');
    cr_assert_not(out->failed);
}

Test(prompt, a_prompt_has_as_many_tokens_as_asked_for)
{
    struct bench_options options;
    struct buffer out;
    cr_assert_eq(
        PARSE(&options, "http://a:1/x", "--prompt-tokens", "1000", "--model", "m\"m"),
        STATUS_OK);
    write_request(&options, 3, &out);
    uint32_t commas = 0;
    const char *at = strstr(out.data, "\"prompt\":[");
    cr_assert_not_null(at);
    for (; *at != ']'; at++)
        commas += *at == ',';
    cr_assert_eq(commas, 999);
    cr_assert_not_null(
        strstr(out.data, "POST /x/v1/completions HTTP/1.1\r\nHost: a:1\r\n"));
    cr_assert_not_null(strstr(out.data, "\"model\":\"m\\u0022m\""));
    const char *body = strstr(out.data, "\r\n\r\n") + 4;
    char length[64];
    snprintf(length, sizeof length, "Content-Length: %zu\r\n", strlen(body));
    cr_assert_not_null(strstr(out.data, length));
    buffer_fini(&out);
}

Test(prompt, requests_differ_and_a_seed_repeats_them)
{
    struct bench_options options;
    struct buffer first, again, second;
    cr_assert_eq(PARSE(&options, "http://a"), STATUS_OK);
    write_request(&options, 0, &first);
    write_request(&options, 0, &again);
    write_request(&options, 1, &second);
    cr_assert_str_eq(first.data, again.data);
    cr_assert_str_neq(first.data, second.data);
    buffer_fini(&first);
    buffer_fini(&again);
    buffer_fini(&second);
}
