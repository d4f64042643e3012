#include "tests/text/vocabulary_fixture.h"
#include <criterion/criterion.h>
#include <string.h>

#define BYTE(byte)   (FIXTURE_BYTES + (uint32_t)(uint8_t)(byte))
#define WORD(number) (FIXTURE_WORDS + (number))
#define SP           "\xE2\x96\x81" /* U+2581 */
#define PIECE(string, special)                                                           \
    {                                                                                    \
        SPAN_LITERAL(string), special                                                    \
    }

/* Words in order of falling score; the letters come last, and "__" after "_wo". */
static const char *const spm_words[] = {"he",   "ll",    "hell", "hello", SP "hello",
                                        SP "w", SP "wo", SP SP,  "h",     "e",
                                        "l",    "o",     "w",    SP,      NULL};
enum { HELLO = 4, WO = 6, SPACES = 7, SPACE = 13 };

Test(spm, joins_by_score_and_falls_back_to_bytes)
{
    struct tokenizer *tokenizer = fixture_spm(false, spm_words);
    fixture_expect(tokenizer, " hello", 0, IDS(WORD(HELLO)));
    fixture_expect(tokenizer, "wo  hello", 0,
                   IDS(WORD(12), WORD(11), WORD(SPACE), WORD(HELLO)));
    fixture_expect(tokenizer, "w\u20AC", 0,
                   IDS(WORD(12), BYTE(0xE2), BYTE(0x82), BYTE(0xAC)));
    fixture_expect(tokenizer, "", 0, IDS(TOKEN_NONE));
    fixture_expect(tokenizer, "", TOKENIZE_ADD, IDS(FIXTURE_BOS));
    tokenizer_destroy(tokenizer);
}

Test(spm, a_prefix_stands_at_the_start_and_after_control_tokens)
{
    struct tokenizer *with = fixture_spm(true, spm_words);
    fixture_expect(with, "hello", TOKENIZE_ADD, IDS(FIXTURE_BOS, WORD(HELLO)));
    fixture_expect(with, "hello</s> wo", TOKENIZE_SPECIAL,
                   IDS(WORD(HELLO), FIXTURE_EOS, WORD(SPACE), WORD(WO)));
    tokenizer_destroy(with);
    struct tokenizer *without = fixture_spm(false, spm_words);
    fixture_expect(without, "<s>wo</s>", TOKENIZE_SPECIAL,
                   IDS(FIXTURE_BOS, WORD(12), WORD(11), FIXTURE_EOS));
    tokenizer_destroy(without);
}

Test(spm, user_defined_tokens_are_found_everywhere_and_control_tokens_on_request)
{
    struct tokenizer *tokenizer = fixture_spm(false, spm_words);
    fixture_expect(tokenizer, "h\n\no", 0, IDS(WORD(8), FIXTURE_BREAK, WORD(11)));
    fixture_expect(tokenizer, "<s>", 0, IDS(BYTE('<'), BYTE('s'), BYTE('>')));
    fixture_expect(tokenizer, "<s>", TOKENIZE_SPECIAL, IDS(FIXTURE_BOS));
    /* A user-defined token that looks like a turn marker is a control token. */
    cr_assert(tokenizer_is_control(tokenizer, FIXTURE_TURN));
    fixture_expect(tokenizer, "<|turn|>", TOKENIZE_SPECIAL, IDS(FIXTURE_TURN));
    fixture_expect(tokenizer, "<|turn|>", 0,
                   IDS(BYTE('<'), BYTE('|'), BYTE('t'), BYTE('u'), BYTE('r'), BYTE('n'),
                       BYTE('|'), BYTE('>')));
    tokenizer_destroy(tokenizer);
}

Test(pieces, what_people_wrote_never_becomes_a_control_token)
{
    struct tokenizer *tokenizer = fixture_spm(false, spm_words);
    const struct text_piece pieces[] = {PIECE("<s>", true), PIECE("<s>", false),
                                        PIECE("</s>", true)};
    fixture_expect_pieces(tokenizer, pieces, 3,
                          IDS(FIXTURE_BOS, BYTE('<'), BYTE('s'), BYTE('>'), FIXTURE_EOS));
    const struct text_piece straddling[] = {PIECE("<", true), PIECE("s>", false),
                                            PIECE("<s", true), PIECE("", false),
                                            PIECE(">", true)};
    fixture_expect_pieces(
        tokenizer, straddling, 5,
        IDS(BYTE('<'), BYTE('s'), BYTE('>'), BYTE('<'), BYTE('s'), BYTE('>')));
    const struct text_piece of_one_kind[] = {PIECE("<", true), PIECE("s>", true)};
    fixture_expect_pieces(tokenizer, of_one_kind, 2, IDS(FIXTURE_BOS));
    tokenizer_destroy(tokenizer);
}

Test(pieces, a_border_of_pieces_is_no_border_of_words)
{
    struct tokenizer *tokenizer = fixture_spm(false, spm_words);
    const struct text_piece pieces[] = {PIECE(" he", true), PIECE("llo", false),
                                        PIECE("\n", true), PIECE("\n", false)};
    fixture_expect_pieces(tokenizer, pieces, 4, IDS(WORD(HELLO), FIXTURE_BREAK));
    tokenizer_destroy(tokenizer);
}

static const char *const bpe_words[] = {"ab", "bc", "abc", "\u0120a", "bca", NULL};
static const char *const bpe_merges[] = {"b c", "a b", "a bc", "\xC4\xA0 a", NULL};

Test(bpe, joins_by_rank_within_words)
{
    struct tokenizer *tokenizer = fixture_bpe("gpt-2", bpe_words, bpe_merges);
    fixture_expect(tokenizer, "abc", 0, IDS(WORD(2))); /* bc first, then a bc */
    fixture_expect(tokenizer, "abab", 0, IDS(WORD(0), WORD(0)));
    fixture_expect(tokenizer, "b a", 0, IDS(BYTE('b'), WORD(3)));
    fixture_expect(tokenizer, "bca", 0, IDS(WORD(1), BYTE('a')));
    tokenizer_destroy(tokenizer);
}

Test(bpe, a_whole_word_that_is_a_token_wins_only_with_llama3)
{
    struct tokenizer *tokenizer = fixture_bpe("llama-bpe", bpe_words, bpe_merges);
    fixture_expect(tokenizer, "bca", 0, IDS(WORD(4)));
    fixture_expect(tokenizer, "abcab", 0, IDS(WORD(2), WORD(0)));
    tokenizer_destroy(tokenizer);
}

Test(bpe, a_merge_of_what_is_no_token_is_refused)
{
    struct tokenizer *tokenizer;
    struct fault fault;
    const int32_t types[] = {TOKEN_NORMAL, TOKEN_NORMAL};
    const struct span tokens[] = {SPAN_LITERAL("a"), SPAN_LITERAL("b")};
    const struct span texts[] = {
        SPAN_LITERAL("a b"), SPAN_LITERAL("a"), SPAN_LITERAL("a c"), {NULL, 0}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const struct tokenizer_description description = {.model = "gpt2",
                                                          .pre = "gpt-2",
                                                          .tokens_count = 2,
                                                          .tokens = tokens,
                                                          .token_types = types,
                                                          .merges_count = 1,
                                                          .merges = &texts[i],
                                                          .bos = TOKEN_NONE,
                                                          .eos = TOKEN_NONE,
                                                          .unknown = TOKEN_NONE};
        cr_assert_eq(tokenizer_create(&tokenizer, &description, &fault), STATUS_CORRUPT);
        cr_assert_not_null(strstr(fault.sentence, "merge 0"));
    }
}

Test(tokenizer, broken_text_and_too_much_text_are_refused)
{
    struct tokenizer *tokenizer = fixture_bpe("gpt-2", bpe_words, bpe_merges);
    struct token_list list;
    struct fault fault;
    token_list_init(&list, 3);
    cr_assert_eq(tokenizer_encode(tokenizer, SPAN_LITERAL("a\xFF"), 0, &list, &fault),
                 STATUS_MALFORMED);
    cr_assert_eq(list.count, 0);
    cr_assert_eq(tokenizer_encode(tokenizer, SPAN_LITERAL("xxx"), 0, &list, &fault),
                 STATUS_OK);
    cr_assert_eq(tokenizer_encode(tokenizer, SPAN_LITERAL("x"), 0, &list, &fault),
                 STATUS_CONTEXT_LENGTH);
    cr_assert_eq(list.count, 3);
    token_list_fini(&list);
    tokenizer_destroy(tokenizer);
}

Test(tokenizer, knows_which_tokens_end_a_generation)
{
    struct tokenizer *tokenizer = fixture_spm(false, spm_words);
    size_t count;
    const uint32_t *ends = tokenizer_end_tokens(tokenizer, &count);
    cr_assert_eq(count, 1);
    cr_assert_eq(ends[0], FIXTURE_EOS);
    tokenizer_destroy(tokenizer);
}
