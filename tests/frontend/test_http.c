/* HTTP in and out, without a socket. */
#include "frontend/core/http_reader.h"
#include "frontend/core/http_response.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#define BODY_MAX 64

static struct http_reader reader;

static void open_reader(void)
{
    http_reader_init(&reader, BODY_MAX);
}

static void close_reader(void)
{
    http_reader_fini(&reader);
}

TestSuite(http, .init = open_reader, .fini = close_reader);

static const char two_requests[] = "POST /v1/completions?x=1 HTTP/1.1\r\n"
                                   "Host: a\r\nX-Empty:\r\nContent-Type: text/json\r\n"
                                   "Content-Length: 5\r\n\r\nhello"
                                   "GET /health HTTP/1.1\r\nHost: b\r\n"
                                   "Connection: close\r\n\r\n";

static void check_first(void)
{
    const struct http_request *request = &reader.request;
    cr_assert_eq(request->method, HTTP_METHOD_POST);
    cr_assert(span_equal(http_request_path(request), SPAN_LITERAL("/v1/completions")));
    cr_assert(span_equal(buffer_span(&request->body), SPAN_LITERAL("hello")));
    cr_assert(span_equal(http_request_header(request, "content-type"),
                         SPAN_LITERAL("text/json")));
    cr_assert_eq(http_request_header(request, "x-empty").size, 0);
    cr_assert_eq(http_request_header(request, "authorization").size, 0);
    cr_assert(request->keep_alive && request->chunked_allowed);
}

static void check_second(void)
{
    cr_assert_eq(reader.request.method, HTTP_METHOD_GET);
    cr_assert(span_equal(http_request_path(&reader.request), SPAN_LITERAL("/health")));
    cr_assert_eq(reader.request.body.size, 0);
    cr_assert_not(reader.request.keep_alive);
}

/* Feeds bytes and returns the event that stops the feeding. */
static enum http_event feed(struct span *bytes)
{
    size_t used = 0;
    enum http_event event = http_reader_feed(&reader, *bytes, &used);
    *bytes = (struct span){bytes->data + used, bytes->size - used};
    return event;
}

Test(http, a_pipeline_stops_behind_each_request)
{
    struct span bytes = SPAN_LITERAL(two_requests);
    cr_assert_eq(feed(&bytes), HTTP_EVENT_REQUEST);
    check_first();
    http_reader_next(&reader);
    cr_assert_eq(feed(&bytes), HTTP_EVENT_REQUEST);
    check_second();
    cr_assert_eq(bytes.size, 0);
}

/* Both halves of a cut, at every place, from memory that ends where the half ends. */
Test(http, requests_cut_at_any_byte_are_read_alike)
{
    for (size_t cut = 1; cut < sizeof two_requests - 1; cut++) {
        uint32_t requests_count = 0;
        size_t sizes[2] = {cut, sizeof two_requests - 1 - cut};
        for (int half = 0; half < 2; half++) {
            char *copy = malloc(sizes[half]);
            memcpy(copy, two_requests + (half ? cut : 0), sizes[half]);
            struct span bytes = {copy, sizes[half]};
            while (bytes.size > 0) {
                enum http_event event = feed(&bytes);
                cr_assert_neq(event, HTTP_EVENT_FAULT, "cut at %zu", cut);
                if (event != HTTP_EVENT_REQUEST)
                    continue;
                if (requests_count++ == 0)
                    check_first();
                else
                    check_second();
                http_reader_next(&reader);
            }
            free(copy);
        }
        cr_assert_eq(requests_count, 2, "cut at %zu", cut);
    }
}

static enum http_event feed_text(const char *text)
{
    struct span bytes = span_of(text);
    return feed(&bytes);
}

static void refused(const char *text, enum status status)
{
    cr_assert_eq(feed_text(text), HTTP_EVENT_FAULT, "%s", text);
    cr_assert_eq(reader.fault.status, status, "%s: %s", text, reader.fault.sentence);
    close_reader();
    open_reader();
}

Test(http, what_smuggles_is_refused)
{
    static const char *const heads[] = {
        "Content-Length: 5\r\nContent-Length: 0",
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: -1",
        "Content-Length: 0x5",
        "Content-Length: 5 5",
        "Content-Length: 18446744073709551621",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding:",
        "Transfer-Encoding : chunked",
        "Host: b",
        "X: y\r\n folded: z",
    };
    for (size_t row = 0; row < sizeof heads / sizeof heads[0]; row++) {
        char text[256];
        snprintf(text, sizeof text, "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n",
                 heads[row]);
        refused(text, STATUS_MALFORMED);
    }
    refused("GET / HTTP/1.1\r\n\r\n", STATUS_MALFORMED);
    refused("GET / HTTP/1.1\nHost: a\n\n", STATUS_MALFORMED);
    refused("GET / HTTP/2.0\r\nHost: a\r\n\r\n", STATUS_MALFORMED);
}

Test(http, a_declared_body_is_refused_before_it_comes)
{
    refused("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65\r\n\r\n", STATUS_TOO_LARGE);
    cr_assert_eq(feed_text("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 64\r\n\r\n"),
                 HTTP_EVENT_MORE);
}

#define CHUNKED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

Test(http, chunks_are_joined)
{
    cr_assert_eq(
        feed_text(CHUNKED "3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: v\r\n\r\n"),
        HTTP_EVENT_REQUEST);
    cr_assert(
        span_equal(buffer_span(&reader.request.body), SPAN_LITERAL("abc0123456789")));
}

Test(http, a_coding_may_have_blanks_around_it_and_large_letters)
{
    cr_assert_eq(feed_text("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \tChunked "
                           " \r\n\r\n1\r\na\r\n0\r\n\r\n"),
                 HTTP_EVENT_REQUEST);
}

Test(http, trailers_are_no_headers)
{
    cr_assert_eq(feed_text(CHUNKED "0\r\nAuthorization: Bearer key\r\n\r\n"),
                 HTTP_EVENT_REQUEST);
    cr_assert_eq(http_request_header(&reader.request, "authorization").size, 0);
    cr_assert_eq(reader.request.headers_count, 2);
}

Test(http, chunks_over_the_bound_or_out_of_form_are_refused)
{
    refused(CHUNKED "41\r\n01234567890123456789012345678901234567890123456789"
                    "012345678901234\r\n",
            STATUS_TOO_LARGE);
    refused(CHUNKED "5\r\nhelloXX0\r\n\r\n", STATUS_MALFORMED);
    refused(CHUNKED "5\nhello\n0\n\n", STATUS_MALFORMED);
    refused(CHUNKED "ffffffffffffffff1\r\n", STATUS_MALFORMED);
    refused(CHUNKED "-1\r\n", STATUS_MALFORMED);
    refused(CHUNKED "0x5\r\n", STATUS_MALFORMED);
}

/* Feeds piece again and again, at most most bytes in all, until something happens. */
static enum http_event feed_many(const char *first, const char *piece, size_t most)
{
    enum http_event event = feed_text(first);
    for (size_t sent = 0; event == HTTP_EVENT_MORE && sent < most; sent += strlen(piece))
        event = feed_text(piece);
    return event;
}

Test(http, heads_without_end_are_refused)
{
    static const struct {
        const char *first, *piece;
        enum status status;
    } rows[] = {
        {"GET /", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", STATUS_URL_TOO_LONG},
        {"GET / HTTP/1.1\r\nX: ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         STATUS_HEADERS_TOO_LARGE},
        {"GET / HTTP/1.1\r\n", "X: y\r\n", STATUS_HEADERS_TOO_LARGE},
        {"\r\n", "\r\n", STATUS_HEADERS_TOO_LARGE},
        {CHUNKED "1;", "eeeeeeeeeeeeeeeeeeeeeeee", STATUS_TOO_LARGE},
        {CHUNKED "0\r\n", "T: v\r\n", STATUS_HEADERS_TOO_LARGE},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        cr_assert_eq(feed_many(rows[row].first, rows[row].piece, 100000),
                     HTTP_EVENT_FAULT, "row %zu", row);
        cr_assert_eq(reader.fault.status, rows[row].status, "row %zu", row);
        close_reader();
        open_reader();
    }
}

Test(http, a_client_that_waits_for_continue_is_told)
{
    cr_assert_eq(feed_text("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                           "Content-Length: 2\r\n\r\n"),
                 HTTP_EVENT_CONTINUE);
    cr_assert_eq(feed_text("ab"), HTTP_EVENT_REQUEST);
}

Test(http, http_1_0_is_answered_without_chunks)
{
    cr_assert_eq(feed_text("GET / HTTP/1.0\r\n\r\n"), HTTP_EVENT_REQUEST);
    cr_assert_not(reader.request.chunked_allowed);
    cr_assert_not(reader.request.keep_alive);
}

/* --- responses --------------------------------------------------------------------- */

static void check_response(const struct http_response *response, const char *body,
                           const char *wanted)
{
    struct buffer out;
    buffer_init(&out, 4096);
    http_response_write(&out, response, span_of(body));
    cr_assert(span_equal(buffer_span(&out), span_of(wanted)), "%.*s", (int)out.size,
              out.data);
    buffer_fini(&out);
}

#define ORIGIN "Access-Control-Allow-Origin: *\r\n"

Test(http, responses_say_all_that_clients_need)
{
    struct http_response response = {
        .code = 200, .content_type = "text/plain", .keep_alive = true};
    check_response(&response, "hi",
                   "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" ORIGIN
                   "Connection: keep-alive\r\nContent-Length: 2\r\n\r\nhi");
    response.head_only = true;
    check_response(&response, "hi",
                   "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" ORIGIN
                   "Connection: keep-alive\r\nContent-Length: 2\r\n\r\n");
    response = (struct http_response){.code = 405, .allow = "GET", .retry_after_s = 7};
    check_response(&response, "",
                   "HTTP/1.1 405 Method Not Allowed\r\nRetry-After: 7\r\n" ORIGIN
                   "Allow: GET\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
}

Test(http, a_chunk_of_nothing_does_not_end_a_stream)
{
    struct buffer out;
    buffer_init(&out, 4096);
    http_response_chunk(&out, SPAN_LITERAL("hello, world"), true);
    http_response_chunk(&out, SPAN_LITERAL(""), true);
    http_response_end(&out, true);
    cr_assert(
        span_equal(buffer_span(&out), SPAN_LITERAL("c\r\nhello, world\r\n0\r\n\r\n")));
    buffer_fini(&out);
}
