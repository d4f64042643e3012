/* sse_reader.h - events out of a stream of server-sent events, cut at any byte.
 *
 * Layer:   pure (allocates up to its bound).
 * Source:  HTML Living Standard, 9.2.6 "Interpreting an event stream": lines end in LF,
 *          CR or CRLF; "data" lines are joined by LF; an empty line ends an event;
 *          comments and other fields do not concern us.
 */
#ifndef ROPEWAY_TOOLS_BENCH_SSE_READER_H
#define ROPEWAY_TOOLS_BENCH_SSE_READER_H

#include "common/base/buffer.h"

#define SSE_EVENT_BYTES_MAX (1u << 20) /* a token's event is a thousandth of it */

/* Gets the data of one event; it stands until the return. */
typedef void sse_on_event(void *context, struct span data);

struct sse_reader {
    struct buffer line; /* the line in hand */
    struct buffer data; /* of the event in hand */
    bool has_data;      /* a data line was there, maybe an empty one */
    bool after_cr;      /* a LF now belongs to the CR before it */
    sse_on_event *on_event;
    void *context;
};

void sse_reader_init(struct sse_reader *reader, sse_on_event *on_event, void *context);
void sse_reader_fini(struct sse_reader *reader);

/* For the next stream. */
void sse_reader_reset(struct sse_reader *reader);

/* False when an event is over the bound; the reader is then of no use until a reset. */
bool sse_reader_push(struct sse_reader *reader, struct span bytes);

#endif
