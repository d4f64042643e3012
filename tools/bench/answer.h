/* answer.h - one request's answer, measured as its events come.
 *
 * Layer:   pure but for jansson.
 * Time:    a parameter, taken once for each read from the socket: events of one read
 *          share it.
 * First:   the first event with text, never one that only opens the stream.
 */
#ifndef ROPEWAY_TOOLS_BENCH_ANSWER_H
#define ROPEWAY_TOOLS_BENCH_ANSWER_H

#include "common/base/span.h"
#include "tools/bench/samples.h"
#include <stdint.h>

/* name, name in the report, meaning */
#define FAILURE_TABLE(X)                                                                 \
    X(FAILURE_NONE, "none", "none")                                                      \
    X(FAILURE_CONNECTION, "connection", "no connection, or it broke before the answer")  \
    X(FAILURE_OVERLOADED, "overloaded", "HTTP 429 or 503")                               \
    X(FAILURE_REFUSED, "refused", "another HTTP 4xx, or a 3xx")                          \
    X(FAILURE_SERVER, "server_error", "another HTTP 5xx")                                \
    X(FAILURE_STREAM_ERROR, "stream_error", "an error within a stream")                  \
    X(FAILURE_CUT, "cut", "a stream that ended without [DONE]")                          \
    X(FAILURE_EMPTY, "empty", "an answer without a token")                               \
    X(FAILURE_NO_USAGE, "no_usage", "a stream that does not count its tokens")           \
    X(FAILURE_MALFORMED, "malformed", "bytes that are no HTTP, event or JSON")           \
    X(FAILURE_TIMEOUT, "timeout", "longer than --timeout")

enum failure {
#define FAILURE_ENUM(name, word, meaning) name,
    FAILURE_TABLE(FAILURE_ENUM)
#undef FAILURE_ENUM
        FAILURES_COUNT
};

const char *failure_name(enum failure failure);
const char *failure_meaning(enum failure failure);

struct answer {
    uint64_t sent_ns, first_ns, last_ns; /* first, last: of events with text; 0: none */
    uint32_t chunks_count;               /* events with text */
    uint64_t prompt_tokens, completion_tokens;
    bool has_usage, done;
    enum failure failure; /* that an event told of */
};

void answer_begin(struct answer *answer, uint64_t now_ns);

/* One event's data. The gap since the last event with text goes into gaps. */
void answer_event(struct answer *answer, struct span data, uint64_t now_ns,
                  struct samples *gaps);

/* What an answer with HTTP status 200 was, once nothing more comes. */
enum failure answer_verdict(const struct answer *answer);

/* What another HTTP status means. */
enum failure failure_of_http(unsigned http_status);

#endif
