#include "tests/text/vocabulary_fixture.h"
#include "common/text/utf8.h"
#include <criterion/criterion.h>
#include <stdio.h>

#define TOKENS_MAX (FIXTURE_WORDS + 64)

static char byte_names[256][8];
static struct span tokens[TOKENS_MAX];
static int32_t types[TOKENS_MAX];
static float scores[TOKENS_MAX];
static struct span merges[64];

static uint32_t count_of(const char *const *strings)
{
    uint32_t count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

static void put(uint32_t id, struct span text, enum token_type type, float score)
{
    tokens[id] = text;
    types[id] = type;
    scores[id] = score;
}

/* The alphabet's letter for a byte: as byte_alphabet.h says, written the other way. */
static uint32_t letter_of(uint32_t byte)
{
    uint32_t shifted = 0x100;
    for (uint32_t other = 0; other <= byte; other++) {
        bool printable = (other >= 0x21 && other <= 0x7E) ||
                         (other >= 0xA1 && other <= 0xAC) || other >= 0xAE;
        if (other == byte)
            return printable ? byte : shifted;
        shifted += !printable;
    }
    return 0;
}

static struct tokenizer_description describe(bool spm, const char *const *words)
{
    put(FIXTURE_UNKNOWN, SPAN_LITERAL("<unk>"), TOKEN_UNKNOWN, 0);
    put(FIXTURE_BOS, SPAN_LITERAL("<s>"), TOKEN_CONTROL, 0);
    put(FIXTURE_EOS, SPAN_LITERAL("</s>"), TOKEN_CONTROL, 0);
    put(FIXTURE_TURN, SPAN_LITERAL("<|turn|>"), TOKEN_USER_DEFINED, 0);
    put(FIXTURE_BREAK, SPAN_LITERAL("\n\n"), TOKEN_USER_DEFINED, 0);
    for (uint32_t byte = 0; byte < 256; byte++) {
        char *name = byte_names[byte];
        size_t size = spm ? (size_t)snprintf(name, sizeof byte_names[0], "<0x%02X>", byte)
                          : utf8_write(letter_of(byte), name);
        put(FIXTURE_BYTES + byte, (struct span){name, size},
            spm ? TOKEN_BYTE : TOKEN_NORMAL, 0);
    }
    uint32_t words_count = count_of(words);
    for (uint32_t i = 0; i < words_count; i++)
        put(FIXTURE_WORDS + i, span_of(words[i]), TOKEN_NORMAL, -(float)i);
    return (struct tokenizer_description){
        .model = spm ? "llama" : "gpt2",
        .tokens_count = FIXTURE_WORDS + words_count,
        .tokens = tokens,
        .scores = scores,
        .token_types = types,
        .bos = FIXTURE_BOS,
        .eos = FIXTURE_EOS,
        .unknown = FIXTURE_UNKNOWN,
        .add_bos = spm,
    };
}

static struct tokenizer *make(const struct tokenizer_description *description)
{
    struct tokenizer *tokenizer;
    struct fault fault;
    cr_assert_eq(tokenizer_create(&tokenizer, description, &fault), STATUS_OK, "%s",
                 fault.sentence);
    return tokenizer;
}

struct tokenizer *fixture_spm(bool add_space_prefix, const char *const *words)
{
    struct tokenizer_description description = describe(true, words);
    description.add_space_prefix = add_space_prefix;
    return make(&description);
}

struct tokenizer *fixture_bpe(const char *pre, const char *const *words,
                              const char *const *merge_texts)
{
    struct tokenizer_description description = describe(false, words);
    description.pre = pre;
    description.merges_count = count_of(merge_texts);
    for (uint32_t i = 0; i < description.merges_count; i++)
        merges[i] = span_of(merge_texts[i]);
    description.merges = merges;
    return make(&description);
}

static void expect_list(const struct token_list *list, const uint32_t *ids)
{
    for (size_t i = 0; i < list->count; i++)
        cr_assert_eq(list->ids[i], ids[i], "token %zu is %u, not %d", i, list->ids[i],
                     (int)ids[i]);
    cr_assert_eq(ids[list->count], TOKEN_NONE, "there are only %zu tokens", list->count);
}

void fixture_expect(const struct tokenizer *tokenizer, const char *text, int flags,
                    const uint32_t *ids)
{
    struct token_list list;
    struct fault fault;
    token_list_init(&list, 1000);
    cr_assert_eq(tokenizer_encode(tokenizer, span_of(text), flags, &list, &fault),
                 STATUS_OK, "%s", fault.sentence);
    expect_list(&list, ids);
    token_list_fini(&list);
}

void fixture_expect_pieces(const struct tokenizer *tokenizer,
                           const struct text_piece *pieces, size_t pieces_count,
                           const uint32_t *ids)
{
    struct token_list list;
    struct fault fault;
    token_list_init(&list, 1000);
    cr_assert_eq(
        tokenizer_encode_pieces(tokenizer, pieces, pieces_count, 0, &list, &fault),
        STATUS_OK, "%s", fault.sentence);
    expect_list(&list, ids);
    token_list_fini(&list);
}
