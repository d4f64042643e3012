/* http_reader.h - bytes of one connection to HTTP/1.1 requests, every length bounded.
 *
 * Layer:   frontend/core (pure; llhttp in its strict mode).
 * Use:     feed bytes; the reader stops behind each request, so that the next one of a
 *          pipeline is begun only after http_reader_next.
 * Errors:  after HTTP_EVENT_FAULT the connection answers once and closes: where the next
 *          request would begin is not known any more.
 * Rules:   HTTP/1.1 needs exactly one Host; Upgrade is ignored; a body is bounded as
 *          declared, before it is read, and as it comes where it is chunked; chunk
 *          extensions are read over, in all at most HTTP_EXTENSION_BYTES_MAX.
 */
#ifndef ROPEWAY_FRONTEND_CORE_HTTP_READER_H
#define ROPEWAY_FRONTEND_CORE_HTTP_READER_H

#include "common/base/buffer.h"
#include "common/base/status.h"
#include <llhttp.h>
#include <stdint.h>

/* As large as other servers allow: 64 KiB and 100 to 256 headers, URLs of 8 KiB. */
#define HTTP_HEADER_BYTES_MAX    65536
#define HTTP_HEADERS_MAX         256
#define HTTP_URL_BYTES_MAX       8192
#define HTTP_EXTENSION_BYTES_MAX 4096 /* nobody uses them */

enum http_method {
    HTTP_METHOD_GET = 1,
    HTTP_METHOD_HEAD = 2,
    HTTP_METHOD_POST = 4,
    HTTP_METHOD_OPTIONS = 8,
    HTTP_METHOD_OTHER = 16
};

enum http_event {
    HTTP_EVENT_MORE,     /* all bytes are taken; the request is not whole yet */
    HTTP_EVENT_CONTINUE, /* headers are whole and the client waits for 100 Continue */
    HTTP_EVENT_REQUEST,  /* reader->request is whole */
    HTTP_EVENT_FAULT     /* reader->fault says what to answer before closing */
};

enum http_phase {
    HTTP_PHASE_IDLE,
    HTTP_PHASE_HEADERS,
    HTTP_PHASE_BODY,
    HTTP_PHASE_WHOLE
};

struct http_header {
    uint32_t name_offset, name_size; /* in texts */
    uint32_t value_offset, value_size;
};

struct http_request {
    enum http_method method;
    struct buffer url;
    struct buffer texts; /* the headers' names and values */
    struct http_header headers[HTTP_HEADERS_MAX];
    uint32_t headers_count;
    struct buffer body;
    bool keep_alive;
    bool chunked_allowed; /* HTTP/1.1 or later: an answer may be chunked */
};

struct http_reader {
    llhttp_t parser;
    struct http_request request;
    enum http_phase phase;
    size_t body_bytes_max;
    size_t head_bytes; /* of lines, headers and trailers so far, skipped ones too */
    size_t extension_bytes;
    bool in_trailers;
    bool in_value; /* the newest header's value has begun */
    bool continue_wanted;
    struct fault fault;
};

/* The reader must not move in memory afterwards. */
void http_reader_init(struct http_reader *reader, size_t body_bytes_max);
void http_reader_fini(struct http_reader *reader);

/* Takes bytes until something happens; *used counts those taken. */
enum http_event http_reader_feed(struct http_reader *reader, struct span bytes,
                                 size_t *used);

/* Forgets the request that was answered and begins the next. */
void http_reader_next(struct http_reader *reader);

/* The value of a header, or an empty span with data NULL; name in lower case. */
struct span http_request_header(const struct http_request *request, const char *name);

/* The path of the URL, without the query. */
struct span http_request_path(const struct http_request *request);

#endif
