#include "common/base/rng.h"
#include "common/text/stop_matcher.h"
#include <criterion/criterion.h>

#define TEXT_BYTES_MAX 64

/* Feeds text in chunks of chunk bytes; out holds what came out, and whether a stop did.
 */
static bool feed(const struct span *stops, uint32_t stops_count, struct span text,
                 size_t chunk, struct buffer *out)
{
    struct stop_matcher matcher;
    stop_matcher_init(&matcher, stops, stops_count);
    bool matched = false;
    for (size_t at = 0; at < text.size; at += chunk) {
        size_t size = text.size - at < chunk ? text.size - at : chunk;
        matched = stop_matcher_push(&matcher, (struct span){text.data + at, size}, out);
    }
    stop_matcher_finish(&matcher, out);
    stop_matcher_fini(&matcher);
    return matched;
}

static void expect(const struct span *stops, uint32_t stops_count, const char *text,
                   const char *wanted, bool stops_it)
{
    for (size_t chunk = 1; chunk <= strlen(text); chunk++) {
        struct buffer out;
        buffer_init(&out, 1 << 10);
        bool matched = feed(stops, stops_count, span_of(text), chunk, &out);
        cr_assert_eq(matched, stops_it, "%s in chunks of %zu", text, chunk);
        cr_assert(span_equal(buffer_span(&out), span_of(wanted)),
                  "%s in chunks of %zu gave %.*s", text, chunk, (int)out.size, out.data);
        buffer_fini(&out);
    }
}

#define STOPS(...)                                                                       \
    (const struct span[]){__VA_ARGS__},                                                  \
        sizeof((const struct span[]){__VA_ARGS__}) / sizeof(struct span)
#define S(text) SPAN_LITERAL(text)

Test(stop_matcher, text_ends_right_before_the_stop)
{
    expect(STOPS(S("DEFGHIJ")), "ABCDEFGHIJKL", "ABC", true);
    expect(STOPS(S("F")), "ABCDEFGH", "ABCDE", true);
    expect(STOPS(S("\n")), "?\n", "?", true);
    expect(STOPS(S("aab")), "aaab", "a", true);
    expect(STOPS(S("O P Q")), "L M N O P R O P Q", "L M N O P R ", true);
}

Test(stop_matcher, the_match_that_ends_first_wins_and_then_the_longest)
{
    expect(STOPS(S("ab"), S("abc"), S("bc")), "xabcx", "x", true);
    expect(STOPS(S("bc"), S("abc")), "xabcx", "x", true);
    expect(STOPS(S("abcd"), S("c")), "xabcd", "xab", true);
}

Test(stop_matcher, what_only_began_like_a_stop_is_text)
{
    expect(STOPS(S("stop!")), "do not stop", "do not stop", false);
    expect(STOPS(S("aabaac")), "aabaabaab", "aabaabaab", false);
    expect(NULL, 0, "anything", "anything", false);
}

Test(stop_matcher, holds_back_the_longest_beginning_and_no_more)
{
    struct stop_matcher matcher;
    struct buffer out;
    buffer_init(&out, 100);
    stop_matcher_init(&matcher, STOPS(S("abx"), S("bcd")));
    stop_matcher_push(&matcher, S("abc"), &out);
    cr_assert(span_equal(buffer_span(&out), S("a"))); /* "bc" may go on to "bcd" */
    stop_matcher_push(&matcher, S("a"), &out);
    cr_assert(span_equal(buffer_span(&out), S("abc")));
    stop_matcher_push(&matcher, S("?"), &out);
    cr_assert(span_equal(buffer_span(&out), S("abca?")));
    stop_matcher_fini(&matcher);
    buffer_fini(&out);
}

/* The definition, byte by byte. */
static bool naive(const struct span *stops, uint32_t stops_count, struct span text,
                  size_t *size)
{
    for (size_t end = 1; end <= text.size; end++) {
        size_t longest = 0;
        for (uint32_t i = 0; i < stops_count; i++)
            if (stops[i].size <= end && stops[i].size > longest &&
                memcmp(text.data + end - stops[i].size, stops[i].data, stops[i].size) ==
                    0)
                longest = stops[i].size;
        if (longest > 0) {
            *size = end - longest;
            return true;
        }
    }
    *size = text.size;
    return false;
}

static struct span random_text(uint32_t run, uint32_t draw, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++)
        text[i] = rng_uniform(7, draw, run, (uint32_t)i) < 0.5f ? 'a' : 'b';
    return (struct span){text, size};
}

Test(stop_matcher, agrees_with_its_definition_over_two_letters)
{
    for (uint32_t run = 0; run < 20000; run++) {
        char texts[STOP_STRINGS_MAX + 1][TEXT_BYTES_MAX];
        struct span stops[STOP_STRINGS_MAX];
        uint32_t stops_count = 1 + run % STOP_STRINGS_MAX;
        for (uint32_t i = 0; i < stops_count; i++)
            stops[i] = random_text(run, i, 1 + (run / 4 + i * 3) % 7, texts[i]);
        struct span text = random_text(run, STOP_STRINGS_MAX, run % TEXT_BYTES_MAX,
                                       texts[STOP_STRINGS_MAX]);
        size_t wanted;
        bool stops_it = naive(stops, stops_count, text, &wanted);
        struct buffer out;
        buffer_init(&out, TEXT_BYTES_MAX);
        bool matched = feed(stops, stops_count, text, 1 + run % 5, &out);
        cr_assert_eq(matched, stops_it, "run %u", run);
        cr_assert(span_equal(buffer_span(&out), (struct span){text.data, wanted}),
                  "run %u", run);
        buffer_fini(&out);
    }
}
