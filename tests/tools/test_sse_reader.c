#include "tools/bench/sse_reader.h"
#include <criterion/criterion.h>

/* Events of one stream, each followed by '|'. */
struct seen {
    char text[4096];
    size_t size;
};

static void on_event(void *context, struct span data)
{
    struct seen *seen = context;
    cr_assert_lt(seen->size + data.size + 1, sizeof seen->text);
    if (data.size != 0)
        memcpy(seen->text + seen->size, data.data, data.size);
    seen->size += data.size;
    seen->text[seen->size++] = '|';
    seen->text[seen->size] = '\0';
}

/* The stream's events, when it comes in pieces of piece_bytes. */
static void check(const char *stream, size_t piece_bytes, const char *wanted)
{
    struct sse_reader reader;
    struct seen seen = {.size = 0};
    sse_reader_init(&reader, on_event, &seen);
    size_t size = strlen(stream);
    for (size_t at = 0; at < size; at += piece_bytes) {
        size_t left = size - at;
        struct span piece = {stream + at, left < piece_bytes ? left : piece_bytes};
        cr_assert(sse_reader_push(&reader, piece));
    }
    cr_assert_str_eq(seen.text, wanted, "in pieces of %zu: %s", piece_bytes, seen.text);
    sse_reader_fini(&reader);
}

static void check_every_cut(const char *stream, const char *wanted)
{
    for (size_t piece_bytes = 1; piece_bytes <= strlen(stream); piece_bytes++)
        check(stream, piece_bytes, wanted);
}

Test(sse_reader, events_are_the_same_wherever_the_stream_is_cut)
{
    check_every_cut("data: {\"a\":1}\n\ndata: two\n\n", "{\"a\":1}|two|");
}

Test(sse_reader, lines_may_end_in_lf_cr_or_crlf)
{
    check_every_cut("data: a\r\n\r\ndata: b\r\rdata: c\n\n", "a|b|c|");
}

Test(sse_reader, several_data_lines_are_one_event)
{
    check_every_cut("data: a\ndata: b\n\n", "a\nb|");
}

Test(sse_reader, only_one_space_is_dropped)
{
    check_every_cut("data:  a\n\ndata:b\n\n", " a|b|");
}

Test(sse_reader, comments_and_other_fields_are_no_events)
{
    check_every_cut(": ping\n\nevent: x\nid: 1\nretry: 5\n\ndatum: y\n\ndata: z\n\n",
                    "z|");
}

Test(sse_reader, an_empty_data_line_is_an_empty_event)
{
    check_every_cut("data\n\ndata:\n\ndata: \n\n", "|||");
}

Test(sse_reader, an_event_without_its_end_is_none)
{
    check_every_cut("data: a\n\ndata: b\n", "a|");
}

Test(sse_reader, an_event_beyond_the_bound_is_refused)
{
    static char bytes[SSE_EVENT_BYTES_MAX + 1];
    struct sse_reader reader;
    struct seen seen = {.size = 0};
    memset(bytes, 'x', sizeof bytes);
    sse_reader_init(&reader, on_event, &seen);
    cr_assert_not(sse_reader_push(&reader, (struct span){bytes, sizeof bytes}));
    sse_reader_reset(&reader);
    cr_assert(sse_reader_push(&reader, SPAN_LITERAL("data: a\n\n")));
    cr_assert_str_eq(seen.text, "a|");
    sse_reader_fini(&reader);
}
