#include "common/text/stop_matcher.h"

#include "common/base/invariant.h"

/* fallback[n]: the longest proper suffix of the stop's first n bytes that it also begins
 * with. */
static void build_fallback(struct span stop, uint16_t *fallback)
{
    fallback[0] = 0;
    uint16_t length = 0;
    for (size_t at = 1; at < stop.size; at++) {
        fallback[at] = length;
        while (length > 0 && stop.data[at] != stop.data[length])
            length = fallback[length];
        length += stop.data[at] == stop.data[length];
    }
}

void stop_matcher_init(struct stop_matcher *matcher, const struct span *stops,
                       uint32_t stops_count)
{
    INVARIANT(stops_count <= STOP_STRINGS_MAX);
    *matcher = (struct stop_matcher){.stops_count = stops_count, .matched = -1};
    for (uint32_t i = 0; i < stops_count; i++) {
        INVARIANT(stops[i].size > 0 && stops[i].size <= STOP_STRING_BYTES_MAX);
        matcher->stops[i] = stops[i];
        build_fallback(stops[i], matcher->fallback[i]);
    }
}

void stop_matcher_fini(struct stop_matcher *matcher)
{
    *matcher = (struct stop_matcher){.matched = -1};
}

/* Moves stop i on by a byte. True when the text now ends with all of it. */
static bool advance(struct stop_matcher *matcher, uint32_t i, char byte)
{
    struct span stop = matcher->stops[i];
    uint16_t length = matcher->progress[i];
    while (length > 0 && stop.data[length] != byte)
        length = matcher->fallback[i][length];
    length += stop.data[length] == byte;
    matcher->progress[i] = length;
    return length == stop.size;
}

/* The text that is held back: the longest beginning of a stop that it ends with. */
static struct span held(const struct stop_matcher *matcher)
{
    struct span longest = {NULL, 0};
    for (uint32_t i = 0; i < matcher->stops_count; i++)
        if (matcher->progress[i] > longest.size)
            longest = (struct span){matcher->stops[i].data, matcher->progress[i]};
    return longest;
}

/* Takes one byte; the stop that it completes, the longest if several, becomes matched. */
static void take_byte(struct stop_matcher *matcher, char byte)
{
    for (uint32_t i = 0; i < matcher->stops_count; i++)
        if (advance(matcher, i, byte) &&
            (matcher->matched < 0 ||
             matcher->stops[i].size > matcher->stops[matcher->matched].size))
            matcher->matched = (int32_t)i;
}

bool stop_matcher_push(struct stop_matcher *matcher, struct span text, struct buffer *out)
{
    if (matcher->matched >= 0)
        return true;
    struct span before = held(matcher);
    size_t taken = 0;
    while (taken < text.size && matcher->matched < 0)
        take_byte(matcher, text.data[taken++]);
    size_t kept_back = matcher->matched >= 0 ? matcher->stops[matcher->matched].size
                                             : held(matcher).size;
    /* All but the last kept_back bytes of (held before, then taken) are certain. */
    size_t certain = before.size + taken - kept_back;
    size_t from_held = certain < before.size ? certain : before.size;
    buffer_append(out, before.data, from_held);
    buffer_append(out, text.data, certain - from_held);
    return matcher->matched >= 0;
}

void stop_matcher_finish(struct stop_matcher *matcher, struct buffer *out)
{
    if (matcher->matched < 0)
        buffer_append_span(out, held(matcher));
    for (uint32_t i = 0; i < matcher->stops_count; i++)
        matcher->progress[i] = 0;
}
