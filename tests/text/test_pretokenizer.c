#include "common/base/buffer.h"
#include "common/text/pretokenizer.h"
#include <criterion/criterion.h>

static struct fault fault;

static enum status join(void *context, struct span word, struct fault *unused)
{
    (void)unused;
    struct buffer *words = context;
    if (words->size > 0)
        buffer_append_byte(words, '|');
    buffer_append_span(words, word);
    return STATUS_OK;
}

static void expect(const char *name, const char *text, const char *wanted)
{
    struct pretokenizer *pretokenizer;
    cr_assert_eq(pretokenizer_create(&pretokenizer, name, &fault), STATUS_OK, "%s",
                 fault.sentence);
    struct buffer words;
    buffer_init(&words, 1 << 16);
    cr_assert_eq(pretokenizer_split(pretokenizer, span_of(text), join, &words, &fault),
                 STATUS_OK);
    cr_assert(span_equal(buffer_span(&words), span_of(wanted)), "%s: %s gave %.*s", name,
              text, (int)words.size, words.data);
    buffer_fini(&words);
    pretokenizer_destroy(pretokenizer);
}

Test(pretokenizer, an_unknown_name_is_refused_and_named)
{
    struct pretokenizer *pretokenizer;
    const char *const names[] = {"default", "no-such-one", "", "GPT-2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert_eq(pretokenizer_create(&pretokenizer, names[i], &fault),
                     STATUS_UNSUPPORTED);
        cr_assert_not_null(strstr(fault.sentence, names[i]));
    }
    cr_assert_eq(pretokenizer_create(&pretokenizer, NULL, &fault), STATUS_UNSUPPORTED);
}

Test(pretokenizer, digits_are_cut_as_each_family_cuts_them)
{
    expect("gpt-2", "in 12345", "in| 12345");
    expect("smollm", "in 12345", "in| |1|2|3|4|5");
    expect("qwen2", "in 12345", "in| |1|2|3|4|5");
    expect("llama-bpe", "in 12345", "in| |123|45");
    /* Digits are all of \p{N}: Arabic-Indic, superscript, Roman. */
    expect("smollm", "\u0663\u00B2\u2163", "\u0663|\u00B2|\u2163");
}

Test(pretokenizer, code_is_cut_as_qwen2_cuts_it)
{
    expect("qwen2", "->", "->");
    expect("qwen2", "f(x):\n", "f|(x|):\n");
    expect("qwen2", "a\n\n\nb", "a|\n\n\n|b");
    expect("qwen2", "don't DON'T", "don|'t| DON|'T");
    expect("gpt2", "don't DON'T", "don|'t| DON|'|T");
    expect("qwen2", "  x", " | x");
}

/* smollm cuts the digits out first, so what is before one ends there, and a run of spaces
 * keeps its last. */
Test(pretokenizer, the_second_expression_sees_each_part_by_itself)
{
    expect("smollm", "a   1", "a|   |1");
    expect("gpt2", "a   1", "a|  | 1");
}

Test(pretokenizer, spaces_are_unicodes_white_space)
{
    expect("gpt2", "a\u3000b", "a|\u3000|b");
    expect("gpt2",
           "a\xC2\x85"
           "b",
           "a|\xC2\x85|b");
    /* U+180E is no space since Unicode 6.3, though PCRE2's own \s takes it. */
    expect("gpt2", "\u180E\u180E!", "\u180E\u180E!");
}

Test(pretokenizer, a_megabyte_without_a_border_is_one_word)
{
    enum { SIZE = 1 << 20 };
    static char text[SIZE + 1];
    const char *const names[] = {"gpt2", "smollm", "llama3", "qwen2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        memset(text, 'a', SIZE);
        struct buffer words;
        buffer_init(&words, 2 * SIZE);
        struct pretokenizer *pretokenizer;
        pretokenizer_create(&pretokenizer, names[i], &fault);
        cr_assert_eq(pretokenizer_split(pretokenizer, (struct span){text, SIZE}, join,
                                        &words, &fault),
                     STATUS_OK);
        cr_assert_eq(words.size, SIZE);
        buffer_clear(&words);
        memset(text, ' ', SIZE);
        cr_assert_eq(pretokenizer_split(pretokenizer, (struct span){text, SIZE}, join,
                                        &words, &fault),
                     STATUS_OK);
        cr_assert_eq(words.size, SIZE);
        buffer_fini(&words);
        pretokenizer_destroy(pretokenizer);
    }
}
