#include "common/text/byte_alphabet.h"
#include "common/text/utf8.h"
#include <criterion/criterion.h>

#define VALID(text)  cr_assert(utf8_valid(SPAN_LITERAL(text)), "%s", text)
#define BROKEN(text) cr_assert_not(utf8_valid(SPAN_LITERAL(text)))

Test(utf8, the_borders_of_the_table_are_where_unicode_has_them)
{
    VALID("");
    VALID("a\x7F");
    VALID("\xC2\x80\xDF\xBF");
    VALID("\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF");
    VALID("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
    BROKEN("\x80");
    BROKEN("\xC0\x80");
    BROKEN("\xC1\xBF");
    BROKEN("\xE0\x9F\xBF");
    BROKEN("\xED\xA0\x80"); /* a surrogate */
    BROKEN("\xF0\x8F\xBF\xBF");
    BROKEN("\xF4\x90\x80\x80"); /* past U+10FFFF */
    BROKEN("\xF5\x80\x80\x80");
    BROKEN("\xFF");
    BROKEN("\xE2\x82");
}

Test(utf8, every_scalar_value_is_written_and_read_back)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        if (code == 0xD800)
            code = 0xE000;
        char bytes[UTF8_BYTES_MAX];
        uint8_t size = utf8_write(code, bytes);
        struct utf8_step step = utf8_next((struct span){bytes, size});
        cr_assert_eq(step.kind, UTF8_WHOLE);
        cr_assert_eq(step.size, size);
        cr_assert_eq(step.code, code);
        for (uint8_t cut = 1; cut < size; cut++) {
            step = utf8_next((struct span){bytes, cut});
            cr_assert_eq(step.kind, UTF8_CUT);
            cr_assert_eq(step.size, cut);
        }
    }
}

/* The sizes of what text falls into, a digit each; broken subparts are negative. */
static void expect_steps(struct span text, const int *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct utf8_step step = utf8_next(text);
        int size = step.kind == UTF8_BROKEN ? -step.size : step.size;
        cr_assert_eq(size, sizes[i], "step %zu is %d, not %d", i, size, sizes[i]);
        text.data += step.size;
        text.size -= step.size;
    }
    cr_assert_eq(text.size, 0);
}

/* Unicode 15, tables 3-8 to 3-11. */
Test(utf8, broken_runs_are_the_standards_maximal_subparts)
{
    expect_steps(SPAN_LITERAL("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
                 (int[]){-1, -1, -1, -1, -1, -1, -1, -1, 1}, 9);
    expect_steps(SPAN_LITERAL("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
                 (int[]){-1, -1, -1, -1, -1, -1, -1, -1, 1}, 9);
    expect_steps(SPAN_LITERAL("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
                 (int[]){-1, -1, -1, -1, -1, 1, -1, -1, 1}, 9);
    expect_steps(SPAN_LITERAL("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
                 (int[]){-2, -1, -3, -2, 1}, 5);
}

Test(byte_alphabet, spells_all_bytes_and_copies_other_text)
{
    char bytes[64];
    /* U+0120 is a space, U+010A a newline, U+0142 is 0xA0, U+0143 is 0xAD. */
    size_t size =
        byte_alphabet_decode(SPAN_LITERAL("\xC4\xA0"
                                          "a\xC4\x8A\xC5\x82\xC5\x83\xC3\xBF\xC4\x80"),
                             bytes);
    cr_assert(span_equal((struct span){bytes, size}, SPAN_LITERAL(" a\n\xA0\xAD\xFF\0")));
    struct span foreign = SPAN_LITERAL("\xE2\x96\x81\xC2\xAD ");
    size = byte_alphabet_decode(foreign, bytes);
    cr_assert(span_equal((struct span){bytes, size}, foreign));
}
