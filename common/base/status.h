/* status.h - one table of everything that may go wrong outside the program itself.
 *
 * Layer:   common/base (pure).
 * Use:     a function that may fail returns enum status and fills a struct fault, which
 *          the caller owns, with one sentence: what, which value, what to do. Messages
 *          cross process borders by the status's wire name, never by its number.
 */
#ifndef ROPEWAY_COMMON_BASE_STATUS_H
#define ROPEWAY_COMMON_BASE_STATUS_H

#include <stdarg.h>

/* name, wire name (also OpenAI's error.code), HTTP status, OpenAI's error.type */
#define STATUS_TABLE(X)                                                                  \
    X(STATUS_OK, "ok", 200, "")                                                          \
    X(STATUS_INVALID, "invalid_value", 400, "invalid_request_error")                     \
    X(STATUS_MALFORMED, "malformed", 400, "invalid_request_error")                       \
    X(STATUS_CONTEXT_LENGTH, "context_length_exceeded", 400, "invalid_request_error")    \
    X(STATUS_UNAUTHORIZED, "invalid_api_key", 401, "invalid_request_error")              \
    X(STATUS_MODEL_NOT_FOUND, "model_not_found", 404, "invalid_request_error")           \
    X(STATUS_NOT_FOUND, "not_found", 404, "invalid_request_error")                       \
    X(STATUS_METHOD, "method_not_allowed", 405, "invalid_request_error")                 \
    X(STATUS_TIMEOUT, "request_timeout", 408, "invalid_request_error")                   \
    X(STATUS_CONFLICT, "conflict", 409, "invalid_request_error")                         \
    X(STATUS_TOO_LARGE, "too_large", 413, "invalid_request_error")                       \
    X(STATUS_URL_TOO_LONG, "url_too_long", 414, "invalid_request_error")                 \
    X(STATUS_HEADERS_TOO_LARGE, "headers_too_large", 431, "invalid_request_error")       \
    X(STATUS_OVERLOADED, "overloaded", 429, "rate_limit_error")                          \
    X(STATUS_INTERNAL, "internal_error", 500, "server_error")                            \
    X(STATUS_UNAVAILABLE, "unavailable", 503, "server_error")                            \
    X(STATUS_IO, "io_error", 500, "server_error")                                        \
    X(STATUS_NO_SPACE, "no_space", 500, "server_error")                                  \
    X(STATUS_CORRUPT, "corrupt", 500, "server_error")                                    \
    X(STATUS_UNSUPPORTED, "unsupported", 400, "invalid_request_error")

enum status {
#define STATUS_ENUM(name, wire, http, type) name,
    STATUS_TABLE(STATUS_ENUM)
#undef STATUS_ENUM
        STATUS_COUNT
};

#define FAULT_PARAM_BYTES    64
#define FAULT_SENTENCE_BYTES 512

/* Why a call failed: for people. param is the request field or option at fault, or "". */
struct fault {
    enum status status;
    char param[FAULT_PARAM_BYTES];
    char sentence[FAULT_SENTENCE_BYTES];
};

/* Fills fault and returns status, so that `return fault_set(...)` reads as one thought.
 * param may be NULL. A sentence longer than the buffer is cut at a UTF-8 border. */
enum status fault_set(struct fault *fault, enum status status, const char *param,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

const char *status_wire_name(enum status status);
int status_http_code(enum status status);
const char *status_openai_type(enum status status);

/* The status of that wire name; STATUS_INTERNAL for a name that we do not know. */
enum status status_from_wire_name(const char *name);

#endif
