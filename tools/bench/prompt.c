#include "tools/bench/prompt.h"

#include "common/base/rng.h"

/* Every vocabulary has these, and they are pieces of text in all that we know: the first
 * few are often special tokens. */
#define TOKEN_FIRST  64u
#define TOKENS_COUNT 128u

#define TOKEN_BYTES_MAX 4 /* "191," */
#define REST_BYTES_MAX  4096
#define DRAWS           4 /* that one block of random numbers gives */

size_t prompt_request_bytes_max(const struct bench_options *options)
{
    return REST_BYTES_MAX + (size_t)TOKEN_BYTES_MAX * options->prompt_tokens;
}

static void write_tokens(const struct bench_options *options, uint32_t number,
                         struct buffer *body)
{
    uint32_t key[2] = {options->seed, number}, draws[DRAWS] = {0};
    for (uint32_t i = 0; i < options->prompt_tokens; i++) {
        uint32_t counter[4] = {i / DRAWS};
        if (i % DRAWS == 0)
            rng_philox(counter, key, draws);
        buffer_append_format(body, i == 0 ? "%u" : ",%u",
                             TOKEN_FIRST + draws[i % DRAWS] % TOKENS_COUNT);
    }
}

/* A model's name may hold any byte of a file's name. */
static void write_string(struct buffer *body, const char *text)
{
    buffer_append_byte(body, '"');
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\' || byte < ' ')
            buffer_append_format(body, "\\u%04x", byte);
        else
            buffer_append_byte(body, *text);
    }
    buffer_append_byte(body, '"');
}

static void write_body(const struct bench_options *options, uint32_t number,
                       struct buffer *body)
{
    buffer_append_text(body, "{");
    if (options->model[0]) {
        buffer_append_text(body, "\"model\":");
        write_string(body, options->model);
        buffer_append_text(body, ",");
    }
    buffer_append_text(body, "\"prompt\":[");
    write_tokens(options, number, body);
    buffer_append_format(body,
                         "],\"max_tokens\":%u,\"ignore_eos\":true,\"temperature\":0,"
                         "\"stream\":true,\"stream_options\":{\"include_usage\":true}}",
                         options->max_tokens);
}

void prompt_write_request(const struct bench_options *options, uint32_t number,
                          struct buffer *out)
{
    struct buffer body;
    buffer_init(&body, prompt_request_bytes_max(options));
    write_body(options, number, &body);
    buffer_append_format(out,
                         "POST %s/v1/completions HTTP/1.1\r\nHost: %s\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                         options->path, options->authority, body.size);
    if (options->api_key != NULL)
        buffer_append_format(out, "Authorization: Bearer %s\r\n", options->api_key);
    buffer_append_text(out, "\r\n");
    buffer_append_span(out, buffer_span(&body));
    out->failed = out->failed || body.failed;
    buffer_fini(&body);
}
