#include "common/text/tokenizer_gguf.h"
#include "tests/gguf/gguf_fixture.h"
#include <criterion/criterion.h>
#include <string.h>

static struct gguf_writer writer;
static struct buffer file;
static struct gguf *gguf;
static struct tokenizer_gguf read;
static struct fault fault;

#define KEY(name) "tokenizer.ggml." name

static void restart(void)
{
    gguf_close(gguf);
    gguf = NULL;
    tokenizer_gguf_fini(&read);
    buffer_fini(&file);
    gguf_writer_fini(&writer);
    gguf_writer_init(&writer);
}

TestSuite(tokenizer_gguf, .init = restart, .fini = restart);

static enum status read_file(void)
{
    buffer_init(&file, 1 << 20);
    gguf_writer_finish(&writer, &file);
    cr_assert_eq(gguf_open_bytes(&gguf, FIXTURE_NAME, file.data, file.size, &fault),
                 STATUS_OK, "%s", fault.sentence);
    return tokenizer_gguf_read(&read, gguf, &fault);
}

static void refuses(enum status status, const char *words)
{
    cr_assert_eq(read_file(), status, "%s", fault.sentence);
    cr_assert_not_null(strstr(fault.sentence, words), "\"%s\" is not in: %s", words,
                       fault.sentence);
    restart();
}

static void write_strings(const char *key, const char *const *strings, uint64_t count)
{
    gguf_writer_array(&writer, key, GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++)
        gguf_write_string(&writer.metadata, span_of(strings[i]));
}

static void write_types(const uint32_t *types, uint64_t count)
{
    gguf_writer_array(&writer, KEY("token_type"), GGUF_I32, count);
    for (uint64_t i = 0; i < count; i++)
        gguf_write_u32(&writer.metadata, types[i]);
}

static void write_scores(uint64_t count)
{
    gguf_writer_array(&writer, KEY("scores"), GGUF_F32, count);
    for (uint64_t i = 0; i < count; i++) {
        float score = -(float)i;
        buffer_append(&writer.metadata, &score, sizeof score);
    }
}

static const char *const tokens[] = {"a", "b", "ab", "<end>"};
static const uint32_t types[] = {1, 0, 1, 3};
static const char *const merges[] = {"a b"};

static void write_bpe(void)
{
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    gguf_writer_string(&writer, KEY("pre"), "smollm");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(types, 4);
    write_strings(KEY("merges"), merges, 1);
}

Test(tokenizer_gguf, a_bpe_vocabulary_adds_nothing_unless_told)
{
    write_bpe();
    cr_assert_eq(read_file(), STATUS_OK, "%s", fault.sentence);
    const struct tokenizer_description *found = &read.description;
    cr_assert_str_eq(found->model, "gpt2");
    cr_assert_str_eq(found->pre, "smollm");
    cr_assert_eq(found->tokens_count, 4);
    cr_assert(span_equal(found->tokens[3], SPAN_LITERAL("<end>")));
    const int32_t wanted[] = {TOKEN_NORMAL, TOKEN_NORMAL, TOKEN_NORMAL, TOKEN_CONTROL};
    cr_assert_arr_eq(found->token_types, wanted, sizeof wanted);
    cr_assert_eq(found->merges_count, 1);
    cr_assert(span_equal(found->merges[0], SPAN_LITERAL("a b")));
    cr_assert_null(found->scores);
    cr_assert_eq(found->bos, TOKEN_NONE);
    cr_assert_eq(found->eos, TOKEN_NONE);
    cr_assert_eq(found->unknown, TOKEN_NONE);
    cr_assert_not(found->add_bos || found->add_eos || found->add_space_prefix);
}

Test(tokenizer_gguf, an_spm_vocabulary_adds_bos_and_a_space_unless_told)
{
    gguf_writer_string(&writer, KEY("model"), "llama");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(types, 4);
    write_scores(4);
    cr_assert_eq(read_file(), STATUS_OK, "%s", fault.sentence);
    cr_assert_str_eq(read.description.model, "llama");
    cr_assert_eq(read.description.scores[3], -3.0f);
    cr_assert(read.description.add_bos && read.description.add_space_prefix);
    cr_assert_not(read.description.add_eos);
    cr_assert_eq(read.description.merges_count, 0);
}

Test(tokenizer_gguf, llama3_vocabularies_add_bos_unless_told)
{
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    gguf_writer_string(&writer, KEY("pre"), "llama-bpe");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(types, 4);
    write_strings(KEY("merges"), merges, 1);
    cr_assert_eq(read_file(), STATUS_OK, "%s", fault.sentence);
    cr_assert(read.description.add_bos);
}

Test(tokenizer_gguf, ids_and_flags_of_the_file_win)
{
    write_bpe();
    gguf_writer_u32(&writer, KEY("bos_token_id"), 0);
    gguf_writer_u32(&writer, KEY("eos_token_id"), 3);
    gguf_writer_u32(&writer, KEY("unknown_token_id"), 1);
    gguf_writer_bool(&writer, KEY("add_bos_token"), true);
    gguf_writer_bool(&writer, KEY("add_eos_token"), true);
    gguf_writer_bool(&writer, KEY("add_space_prefix"), true);
    cr_assert_eq(read_file(), STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(read.description.bos, 0);
    cr_assert_eq(read.description.eos, 3);
    cr_assert_eq(read.description.unknown, 1);
    cr_assert(read.description.add_bos && read.description.add_eos &&
              read.description.add_space_prefix);
}

Test(tokenizer_gguf, what_is_missing_is_named)
{
    refuses(STATUS_NOT_FOUND, KEY("model"));
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    refuses(STATUS_NOT_FOUND, KEY("tokens"));
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    write_strings(KEY("tokens"), tokens, 4);
    refuses(STATUS_NOT_FOUND, KEY("token_type"));
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(types, 4);
    refuses(STATUS_NOT_FOUND, KEY("merges"));
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(types, 4);
    write_strings(KEY("merges"), merges, 1);
    refuses(STATUS_NOT_FOUND, KEY("pre"));
    gguf_writer_string(&writer, KEY("model"), "llama");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(types, 4);
    refuses(STATUS_NOT_FOUND, KEY("scores"));
}

Test(tokenizer_gguf, arrays_of_other_lengths_and_types_are_refused)
{
    static const uint32_t bad[] = {1, 1, 7, 1};
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(types, 3);
    refuses(STATUS_CORRUPT, "has 3 entries for 4 tokens");
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(bad, 4);
    refuses(STATUS_CORRUPT, "token 2 has type 7");
    gguf_writer_string(&writer, KEY("model"), "llama");
    write_strings(KEY("tokens"), tokens, 4);
    write_types(types, 4);
    write_scores(5);
    refuses(STATUS_CORRUPT, "has 5 entries for 4 tokens");
    gguf_writer_string(&writer, KEY("model"), "gpt2");
    write_strings(KEY("tokens"), tokens, 0);
    refuses(STATUS_UNSUPPORTED, "has 0 entries");
}

Test(tokenizer_gguf, ids_out_of_range_and_unknown_kinds_are_refused)
{
    write_bpe();
    gguf_writer_u32(&writer, KEY("eos_token_id"), 4);
    refuses(STATUS_CORRUPT, "key 'tokenizer.ggml.eos_token_id' is 4, but there are 4");
    gguf_writer_string(&writer, KEY("model"), "t5");
    refuses(STATUS_UNSUPPORTED, "a tokenizer of kind 't5'");
    write_bpe();
    gguf_writer_u32(&writer, KEY("add_bos_token"), 1);
    refuses(STATUS_CORRUPT, "is of type u32, not bool");
}

Test(tokenizer_gguf, the_chat_template_is_lent)
{
    struct span text;
    write_bpe();
    read_file();
    cr_assert_eq(tokenizer_gguf_chat_template(gguf, &text, &fault), STATUS_NOT_FOUND);
    restart();
    write_bpe();
    gguf_writer_string(&writer, "tokenizer.chat_template", "{{ messages }}");
    read_file();
    cr_assert_eq(tokenizer_gguf_chat_template(gguf, &text, &fault), STATUS_OK);
    cr_assert(span_equal(text, SPAN_LITERAL("{{ messages }}")));
}

/* Ids of text by the tokenizer of a tiny model. */
static void encodes(const char *path, int flags, const char *text, const uint32_t *wanted,
                    size_t wanted_count)
{
    struct tokenizer *tokenizer;
    struct token_list list;
    cr_assert_eq(gguf_open(&gguf, path, &fault), STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(tokenizer_gguf_create(&tokenizer, gguf, &fault), STATUS_OK, "%s",
                 fault.sentence);
    restart(); /* closes the file: the tokenizer needs it no more */
    token_list_init(&list, 100);
    cr_assert_eq(tokenizer_encode(tokenizer, span_of(text), flags, &list, &fault),
                 STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(list.count, wanted_count);
    cr_assert_arr_eq(list.ids, wanted, wanted_count * sizeof *wanted);
    token_list_fini(&list);
    tokenizer_destroy(tokenizer);
}

/* Bytes begin at id 3 and merges at 259 in the BPE vocabulary. " the" is its ninth merge,
 * "and" its nineteenth. */
Test(tokenizer_gguf, the_tiny_models_tokenize)
{
    const uint32_t bpe[] = {259 + 18, 259 + 8, 3 + '7', 2};
    encodes(TINY_MODEL, TOKENIZE_SPECIAL, "and the7<|im_end|>", bpe, 4);
    /* In the SPM one bytes begin at 3, characters at 259 (U+2581 for the space), merges
     * behind the 95 characters; BOS is 1. */
    const uint32_t spm[] = {1, 354 + 8, 259 + ('7' - ' '), 3 + 0xC3, 3 + 0xA9};
    encodes(TINY_SPM_MODEL, TOKENIZE_ADD, "the7\xC3\xA9", spm, 5);
}
