/* http_response.h - answers as HTTP/1.1 bytes.
 *
 * Layer:   frontend/core (pure).
 * CORS:    every answer carries Access-Control-Allow-Origin: *, since credentials are
 *          bearer keys that a page must hold itself, never cookies.
 */
#ifndef ROPEWAY_FRONTEND_CORE_HTTP_RESPONSE_H
#define ROPEWAY_FRONTEND_CORE_HTTP_RESPONSE_H

#include "common/base/buffer.h"
#include <stdint.h>

struct http_response {
    int code;
    const char *content_type; /* NULL: no body */
    const char *allow;        /* the methods of a 405 or of OPTIONS, or NULL */
    const char *request_id;   /* or NULL */
    uint32_t retry_after_s;   /* 0: none */
    bool keep_alive;
    bool head_only; /* HEAD: the headers of GET and no body */
};

/* A whole answer: head and body. */
void http_response_write(struct buffer *out, const struct http_response *response,
                         struct span body);

/* The head of an answer that comes in pieces: chunked, or until the close. */
void http_response_begin(struct buffer *out, const struct http_response *response,
                         bool chunked);
void http_response_chunk(struct buffer *out, struct span piece, bool chunked);
void http_response_end(struct buffer *out, bool chunked);

#endif
