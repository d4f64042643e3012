#include "frontend/core/http_response.h"

#include "common/base/invariant.h"

struct reason {
    int code;
    const char *text;
};

static const struct reason reasons[] = {
    {200, "OK"},
    {204, "No Content"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
};

static const char *reason_of(int code)
{
    for (size_t row = 0; row < sizeof reasons / sizeof reasons[0]; row++)
        if (reasons[row].code == code)
            return reasons[row].text;
    return "Unknown";
}

/* All but what says where the body ends. */
static void write_head(struct buffer *out, const struct http_response *response)
{
    buffer_append_format(out, "HTTP/1.1 %d %s\r\n", response->code,
                         reason_of(response->code));
    if (response->content_type)
        buffer_append_format(out, "Content-Type: %s\r\n", response->content_type);
    if (response->request_id)
        buffer_append_format(out, "X-Request-Id: %s\r\n", response->request_id);
    if (response->retry_after_s > 0)
        buffer_append_format(out, "Retry-After: %u\r\n", response->retry_after_s);
    if (response->code == 401)
        buffer_append_text(out, "WWW-Authenticate: Bearer\r\n");
    buffer_append_text(out, "Access-Control-Allow-Origin: *\r\n");
    if (response->allow && response->code == 405)
        buffer_append_format(out, "Allow: %s\r\n", response->allow);
    if (response->allow && response->code == 204)
        buffer_append_format(out,
                             "Allow: %s\r\n"
                             "Access-Control-Allow-Methods: %s\r\n"
                             "Access-Control-Allow-Headers: *, Authorization\r\n"
                             "Access-Control-Max-Age: 86400\r\n",
                             response->allow, response->allow);
    buffer_append_format(out, "Connection: %s\r\n",
                         response->keep_alive ? "keep-alive" : "close");
}

void http_response_write(struct buffer *out, const struct http_response *response,
                         struct span body)
{
    write_head(out, response);
    if (response->code != 204)
        buffer_append_format(out, "Content-Length: %zu\r\n", body.size);
    buffer_append_text(out, "\r\n");
    if (!response->head_only)
        buffer_append_span(out, body);
}

void http_response_begin(struct buffer *out, const struct http_response *response,
                         bool chunked)
{
    INVARIANT(chunked || !response->keep_alive);
    write_head(out, response);
    buffer_append_text(out, "Cache-Control: no-cache\r\n");
    if (chunked)
        buffer_append_text(out, "Transfer-Encoding: chunked\r\n");
    buffer_append_text(out, "\r\n");
}

void http_response_chunk(struct buffer *out, struct span piece, bool chunked)
{
    if (piece.size == 0)
        return; /* A chunk of no bytes would end the answer. */
    if (chunked)
        buffer_append_format(out, "%zx\r\n", piece.size);
    buffer_append_span(out, piece);
    if (chunked)
        buffer_append_text(out, "\r\n");
}

void http_response_end(struct buffer *out, bool chunked)
{
    if (chunked)
        buffer_append_text(out, "0\r\n\r\n");
}
