#include "common/base/rng.h"
#include "common/text/detokenizer.h"
#include "common/text/utf8.h"
#include "tests/text/vocabulary_fixture.h"
#include <criterion/criterion.h>

#define SP "\xE2\x96\x81" /* U+2581 */

static const char *const words[] = {SP "hi", "there\xE2\x82", NULL};
static struct tokenizer *tokenizer;

static void create(void)
{
    tokenizer = fixture_spm(true, words);
}

static void destroy(void)
{
    tokenizer_destroy(tokenizer);
}

TestSuite(detokenizer, .init = create, .fini = destroy);

static void expect(const uint32_t *ids, bool special, bool at_start, const char *wanted)
{
    struct detokenizer detokenizer;
    struct buffer text;
    buffer_init(&text, 1 << 10);
    detokenizer_init(&detokenizer, tokenizer, special, at_start);
    for (size_t i = 0; ids[i] != TOKEN_NONE; i++)
        detokenizer_push(&detokenizer, ids[i], &text);
    detokenizer_finish(&detokenizer, &text);
    cr_assert(span_equal(buffer_span(&text), span_of(wanted)), "%.*s", (int)text.size,
              text.data);
    buffer_fini(&text);
}

#define BYTE(byte) (FIXTURE_BYTES + (byte))

Test(detokenizer, drops_the_prefix_at_the_start_only)
{
    expect(IDS(FIXTURE_WORDS, FIXTURE_WORDS), false, true, "hi hi");
    expect(IDS(FIXTURE_WORDS, FIXTURE_WORDS), false, false, " hi hi");
    expect(IDS(FIXTURE_BOS, FIXTURE_WORDS), false, true, "hi");
    expect(IDS(FIXTURE_BOS, FIXTURE_WORDS), true, true, "<s>hi");
}

Test(detokenizer, a_character_comes_out_when_it_is_whole)
{
    struct detokenizer detokenizer;
    struct buffer text;
    buffer_init(&text, 100);
    detokenizer_init(&detokenizer, tokenizer, false, false);
    const uint32_t emoji[] = {BYTE(0xF0), BYTE(0x9F), BYTE(0x98)};
    for (size_t i = 0; i < 3; i++) {
        detokenizer_push(&detokenizer, emoji[i], &text);
        cr_assert_eq(text.size, 0);
    }
    detokenizer_push(&detokenizer, BYTE(0x80), &text);
    cr_assert(span_equal(buffer_span(&text), SPAN_LITERAL("\U0001F600")));
    buffer_fini(&text);
}

Test(detokenizer, broken_bytes_become_one_replacement_a_run)
{
    expect(IDS(BYTE(0xF0), BYTE(0x9F), BYTE(0x98)), false, false, "\uFFFD");
    expect(IDS(BYTE(0xF0), BYTE(0x9F), BYTE('a')), false, false, "\uFFFDa");
    expect(IDS(BYTE(0xFF), BYTE(0xFE)), false, false, "\uFFFD\uFFFD");
    expect(IDS(FIXTURE_WORDS + 1, BYTE(0xAC)), false, false, "there\u20AC");
    expect(IDS(FIXTURE_WORDS + 1, FIXTURE_EOS, BYTE(0xAC)), false, false, "there\u20AC");
}

/* The text of all bytes at once, by the standard's steps. */
static void clean(struct span bytes, struct buffer *text)
{
    while (bytes.size > 0) {
        struct utf8_step step = utf8_next(bytes);
        if (step.kind == UTF8_WHOLE)
            buffer_append(text, bytes.data, step.size);
        else
            buffer_append_span(text, UTF8_REPLACEMENT);
        bytes.data += step.size;
        bytes.size -= step.size;
    }
}

/* Bytes of which leads and continuations are frequent. */
static uint8_t draw_byte(uint32_t run, uint32_t at)
{
    static const uint8_t pool[] = {'a',  0x80, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0,
                                   0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xFF, 0x8F};
    return pool[(size_t)(rng_uniform(3, 0, run, at) * sizeof pool)];
}

Test(detokenizer, the_same_ids_give_the_text_that_all_their_bytes_have)
{
    for (uint32_t run = 0; run < 5000; run++) {
        char bytes[24];
        struct detokenizer detokenizer;
        struct buffer text, wanted;
        buffer_init(&text, 1000);
        buffer_init(&wanted, 1000);
        detokenizer_init(&detokenizer, tokenizer, false, false);
        for (uint32_t at = 0; at < sizeof bytes; at++) {
            uint8_t byte = draw_byte(run, at);
            bytes[at] = (char)byte;
            detokenizer_push(&detokenizer, BYTE(byte), &text);
        }
        detokenizer_finish(&detokenizer, &text);
        clean((struct span){bytes, sizeof bytes}, &wanted);
        cr_assert(span_equal(buffer_span(&text), buffer_span(&wanted)), "run %u", run);
        buffer_fini(&wanted);
        buffer_fini(&text);
    }
}
