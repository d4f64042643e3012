#include "frontend/core/http_reader.h"

#include "common/base/invariant.h"
#include <strings.h>

static struct http_reader *reader_of(llhttp_t *parser)
{
    return parser->data;
}

static int refuse(struct http_reader *reader, enum status status, const char *sentence)
{
    fault_set(&reader->fault, status, NULL, "%s", sentence);
    return HPE_USER;
}

static int refuse_headers(struct http_reader *reader)
{
    return refuse(reader, STATUS_HEADERS_TOO_LARGE,
                  "The headers are larger than 64 KiB or more than 256.");
}

static int on_message_begin(llhttp_t *parser)
{
    reader_of(parser)->phase = HTTP_PHASE_HEADERS;
    return 0;
}

static int on_url(llhttp_t *parser, const char *at, size_t size)
{
    struct http_reader *reader = reader_of(parser);
    buffer_append(&reader->request.url, at, size);
    if (reader->request.url.failed)
        return refuse(reader, STATUS_URL_TOO_LONG, "The URL is longer than 8 KiB.");
    return 0;
}

static int append_header_text(struct http_reader *reader, const char *at, size_t size)
{
    buffer_append(&reader->request.texts, at, size);
    return reader->request.texts.failed ? refuse_headers(reader) : 0;
}

/* Trailers come after the headers were acted upon, so they must not pass for some. */
static bool is_trailer(struct http_reader *reader)
{
    reader->in_trailers = reader->phase == HTTP_PHASE_BODY;
    return reader->in_trailers;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t size)
{
    struct http_reader *reader = reader_of(parser);
    if (is_trailer(reader))
        return 0;
    struct http_request *request = &reader->request;
    if (request->headers_count == 0 || reader->in_value) {
        if (request->headers_count == HTTP_HEADERS_MAX)
            return refuse_headers(reader);
        request->headers[request->headers_count++] =
            (struct http_header){.name_offset = (uint32_t)request->texts.size};
        reader->in_value = false;
    }
    request->headers[request->headers_count - 1].name_size += (uint32_t)size;
    return append_header_text(reader, at, size);
}

static int on_header_value(llhttp_t *parser, const char *at, size_t size)
{
    struct http_reader *reader = reader_of(parser);
    if (is_trailer(reader))
        return 0;
    struct http_header *header =
        &reader->request.headers[reader->request.headers_count - 1];
    if (!reader->in_value) {
        header->value_offset = (uint32_t)reader->request.texts.size;
        reader->in_value = true;
    }
    header->value_size += (uint32_t)size;
    return append_header_text(reader, at, size);
}

/* A header without a value gets no value bytes, yet the next name begins a new one. */
static int on_header_value_complete(llhttp_t *parser)
{
    reader_of(parser)->in_value = true;
    return 0;
}

static struct span text_at(const struct http_request *request, uint32_t offset,
                           uint32_t size)
{
    return (struct span){request->texts.data + offset, size};
}

static bool header_is(const struct http_request *request, uint32_t index,
                      const char *name)
{
    const struct http_header *header = &request->headers[index];
    struct span found = text_at(request, header->name_offset, header->name_size);
    return found.size == strlen(name) && strncasecmp(found.data, name, found.size) == 0;
}

struct span http_request_header(const struct http_request *request, const char *name)
{
    for (uint32_t index = 0; index < request->headers_count; index++)
        if (header_is(request, index, name))
            return text_at(request, request->headers[index].value_offset,
                           request->headers[index].value_size);
    return (struct span){0};
}

struct span http_request_path(const struct http_request *request)
{
    const char *end = memchr(request->url.data, '?', request->url.size);
    size_t size = end ? (size_t)(end - request->url.data) : request->url.size;
    return (struct span){request->url.data, size};
}

static uint32_t headers_named(const struct http_request *request, const char *name)
{
    uint32_t count = 0;
    for (uint32_t index = 0; index < request->headers_count; index++)
        count += header_is(request, index, name);
    return count;
}

static enum http_method method_of(uint8_t method)
{
    switch (method) {
    case HTTP_GET:
        return HTTP_METHOD_GET;
    case HTTP_HEAD:
        return HTTP_METHOD_HEAD;
    case HTTP_POST:
        return HTTP_METHOD_POST;
    case HTTP_OPTIONS:
        return HTTP_METHOD_OPTIONS;
    default:
        return HTTP_METHOD_OTHER;
    }
}

static struct span without_blanks_behind(struct span text)
{
    while (text.size > 0 && strchr(" \t", text.data[text.size - 1]))
        text.size--;
    return text;
}

/* llhttp frames any list of codings that ends in chunked; we undo no other. */
static bool coding_is_known(const struct http_request *request)
{
    struct span coding =
        without_blanks_behind(http_request_header(request, "transfer-encoding"));
    return headers_named(request, "transfer-encoding") == 0 ||
           (coding.size == 7 && strncasecmp(coding.data, "chunked", 7) == 0);
}

static int on_headers_complete(llhttp_t *parser)
{
    struct http_reader *reader = reader_of(parser);
    struct http_request *request = &reader->request;
    uint32_t hosts_count = headers_named(request, "host");
    bool is_1_0 = parser->http_major == 1 && parser->http_minor == 0;
    if (parser->http_major != 1)
        return refuse(reader, STATUS_MALFORMED, "Only HTTP/1.0 and HTTP/1.1 are spoken.");
    if (hosts_count > 1 || (hosts_count == 0 && !is_1_0))
        return refuse(reader, STATUS_MALFORMED,
                      "A request needs exactly one Host header.");
    if (headers_named(request, "content-length") > 1)
        return refuse(reader, STATUS_MALFORMED, "Content-Length was given twice.");
    if (!coding_is_known(request))
        return refuse(reader, STATUS_MALFORMED,
                      "Only the transfer coding chunked is understood.");
    bool has_length = (parser->flags & F_CONTENT_LENGTH) != 0;
    if (has_length && parser->content_length > reader->body_bytes_max)
        return refuse(reader, STATUS_TOO_LARGE, "The body is larger than allowed.");
    parser->upgrade = 0;
    request->method = method_of(parser->method);
    request->chunked_allowed = !is_1_0;
    request->keep_alive = llhttp_should_keep_alive(parser) != 0;
    struct span expect = http_request_header(request, "expect");
    bool has_body = (parser->flags & F_CHUNKED) || (has_length && parser->content_length);
    reader->phase = HTTP_PHASE_BODY;
    reader->continue_wanted = has_body && !is_1_0 && expect.size == 12 &&
                              strncasecmp(expect.data, "100-continue", 12) == 0;
    return 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t size)
{
    struct http_reader *reader = reader_of(parser);
    buffer_append(&reader->request.body, at, size);
    if (reader->request.body.failed)
        return refuse(reader, STATUS_TOO_LARGE, "The body is larger than allowed.");
    return 0;
}

static int on_chunk_extension(llhttp_t *parser, const char *at, size_t size)
{
    (void)at;
    struct http_reader *reader = reader_of(parser);
    reader->extension_bytes += size;
    if (reader->extension_bytes > HTTP_EXTENSION_BYTES_MAX)
        return refuse(reader, STATUS_TOO_LARGE, "The chunk extensions exceed 4 KiB.");
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    reader_of(parser)->phase = HTTP_PHASE_WHOLE;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_message_begin = on_message_begin,
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_value = on_header_value,
    .on_header_value_complete = on_header_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_chunk_extension_name = on_chunk_extension,
    .on_chunk_extension_value = on_chunk_extension,
    .on_message_complete = on_message_complete,
};

void http_reader_init(struct http_reader *reader, size_t body_bytes_max)
{
    memset(reader, 0, sizeof *reader);
    reader->body_bytes_max = body_bytes_max;
    buffer_init(&reader->request.url, HTTP_URL_BYTES_MAX);
    buffer_init(&reader->request.texts, HTTP_HEADER_BYTES_MAX);
    buffer_init(&reader->request.body, body_bytes_max);
    llhttp_init(&reader->parser, HTTP_REQUEST, &settings);
    reader->parser.data = reader;
}

void http_reader_fini(struct http_reader *reader)
{
    buffer_fini(&reader->request.url);
    buffer_fini(&reader->request.texts);
    buffer_fini(&reader->request.body);
}

/* llhttp reports a callback's refusal and its own errors alike. */
static enum http_event fail(struct http_reader *reader)
{
    if (reader->fault.status == STATUS_OK)
        fault_set(&reader->fault, STATUS_MALFORMED, NULL,
                  "This is no well-formed HTTP request (%s).",
                  llhttp_errno_name(llhttp_get_errno(&reader->parser)));
    return HTTP_EVENT_FAULT;
}

/* A little at a time, so that what is over a bound is noticed soon after the bound. */
#define FEED_BYTES_MAX 16384

static bool in_lines(const struct http_reader *reader)
{
    return reader->phase <= HTTP_PHASE_HEADERS || reader->in_trailers;
}

static enum http_event feed_piece(struct http_reader *reader, struct span piece,
                                  size_t *used)
{
    bool in_head = in_lines(reader);
    llhttp_errno_t error = llhttp_execute(&reader->parser, piece.data, piece.size);
    *used = piece.size;
    if (error == HPE_PAUSED && reader->phase == HTTP_PHASE_WHOLE)
        *used = (size_t)(llhttp_get_error_pos(&reader->parser) - piece.data);
    else if (error != HPE_OK)
        return fail(reader);
    if (in_head && in_lines(reader)) {
        reader->head_bytes += *used;
        if (reader->head_bytes > HTTP_HEADER_BYTES_MAX + HTTP_URL_BYTES_MAX) {
            refuse_headers(reader);
            return HTTP_EVENT_FAULT;
        }
    }
    if (reader->phase == HTTP_PHASE_WHOLE)
        return HTTP_EVENT_REQUEST;
    if (reader->continue_wanted && reader->request.body.size == 0) {
        reader->continue_wanted = false;
        return HTTP_EVENT_CONTINUE;
    }
    return HTTP_EVENT_MORE;
}

enum http_event http_reader_feed(struct http_reader *reader, struct span bytes,
                                 size_t *used)
{
    INVARIANT(reader->phase != HTTP_PHASE_WHOLE);
    *used = 0;
    while (*used < bytes.size) {
        struct span piece = {bytes.data + *used, bytes.size - *used};
        if (piece.size > FEED_BYTES_MAX)
            piece.size = FEED_BYTES_MAX;
        size_t piece_used = 0;
        enum http_event event = feed_piece(reader, piece, &piece_used);
        *used += piece_used;
        if (event != HTTP_EVENT_MORE)
            return event;
    }
    return HTTP_EVENT_MORE;
}

/* A large body's memory is not kept for the rest of a connection's life. */
#define BODY_KEPT_BYTES 65536

void http_reader_next(struct http_reader *reader)
{
    struct http_request *request = &reader->request;
    buffer_clear(&request->url);
    buffer_clear(&request->texts);
    buffer_clear(&request->body);
    if (request->body.capacity > BODY_KEPT_BYTES) {
        buffer_fini(&request->body);
        buffer_init(&request->body, reader->body_bytes_max);
    }
    request->headers_count = 0;
    reader->phase = HTTP_PHASE_IDLE;
    reader->head_bytes = 0;
    reader->in_trailers = false;
    reader->extension_bytes = 0;
    reader->in_value = false;
    reader->continue_wanted = false;
    llhttp_init(&reader->parser, HTTP_REQUEST, &settings);
    reader->parser.data = reader;
}
