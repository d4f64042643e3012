#include "common/gguf/model_shape.h"
#include "tests/gguf/gguf_fixture.h"
#include <criterion/criterion.h>
#include <string.h>

static struct gguf_writer writer;
static struct model_shape shape;
static struct fault fault;

/* Reads the shape of the writer's file. */
static enum status read_shape(void)
{
    struct buffer file;
    struct gguf *gguf;
    buffer_init(&file, 1 << 20);
    gguf_writer_finish(&writer, &file);
    enum status status =
        gguf_open_bytes(&gguf, FIXTURE_NAME, file.data, file.size, &fault);
    cr_assert_eq(status, STATUS_OK, "%s", fault.sentence);
    status = model_shape_read(gguf, &shape, &fault);
    gguf_close(gguf);
    buffer_fini(&file);
    return status;
}

static void write_tokens(uint64_t count)
{
    gguf_writer_array(&writer, "tokenizer.ggml.tokens", GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++)
        gguf_write_string(&writer.metadata, SPAN_LITERAL("t"));
}

/* All that a shape needs but for what a test leaves out. */
static void write_all_but(const char *left_out)
{
    static const struct {
        const char *key;
        uint32_t value;
    } rows[] = {
        {"qwen2.block_count", 3},          {"qwen2.context_length", 4096},
        {"qwen2.embedding_length", 64},    {"qwen2.feed_forward_length", 256},
        {"qwen2.attention.head_count", 4},
    };
    gguf_writer_fini(&writer);
    gguf_writer_init(&writer);
    gguf_writer_string(&writer, "general.architecture", "qwen2");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].key, left_out) != 0)
            gguf_writer_u32(&writer, rows[i].key, rows[i].value);
}

static void refuses(enum status status, const char *words)
{
    cr_assert_eq(read_shape(), status, "%s", fault.sentence);
    cr_assert_not_null(strstr(fault.sentence, words), "\"%s\" is not in: %s", words,
                       fault.sentence);
}

Test(model_shape, defaults_stand_where_the_file_says_nothing)
{
    write_all_but("");
    write_tokens(5);
    cr_assert_eq(read_shape(), STATUS_OK, "%s", fault.sentence);
    cr_assert_str_eq(shape.architecture, "qwen2");
    cr_assert_eq(shape.layers_count, 3);
    cr_assert_eq(shape.embedding_length, 64);
    cr_assert_eq(shape.feed_forward_length, 256);
    cr_assert_eq(shape.heads_count, 4);
    cr_assert_eq(shape.kv_heads_count, 4);
    cr_assert_eq(shape.key_length, 16);
    cr_assert_eq(shape.vocabulary_count, 5);
    cr_assert_eq(shape.context_length, 4096);
    cr_assert_eq(model_shape_block_bytes(&shape, 16, 2), 3 * 2 * 16 * 4 * 16 * 2);
}

Test(model_shape, stated_heads_and_vocabulary_win)
{
    write_all_but("");
    gguf_writer_u32(&writer, "qwen2.attention.head_count_kv", 2);
    gguf_writer_u32(&writer, "qwen2.attention.key_length", 128);
    gguf_writer_u32(&writer, "qwen2.attention.value_length", 128);
    gguf_writer_u32(&writer, "qwen2.vocab_size", 77);
    cr_assert_eq(read_shape(), STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(shape.kv_heads_count, 2);
    cr_assert_eq(shape.key_length, 128);
    cr_assert_eq(shape.vocabulary_count, 77);
}

Test(model_shape, a_missing_number_is_named)
{
    static const char *const needed[] = {
        "qwen2.block_count",          "qwen2.context_length",
        "qwen2.embedding_length",     "qwen2.feed_forward_length",
        "qwen2.attention.head_count",
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        write_all_but(needed[i]);
        refuses(STATUS_NOT_FOUND, needed[i]);
    }
    write_all_but("");
    refuses(STATUS_NOT_FOUND, "qwen2.vocab_size");
}

Test(model_shape, impossible_numbers_are_refused)
{
    write_all_but("qwen2.block_count");
    gguf_writer_u32(&writer, "qwen2.block_count", 0);
    refuses(STATUS_UNSUPPORTED, "key 'qwen2.block_count' is 0");
    write_all_but("qwen2.embedding_length");
    gguf_writer_u32(&writer, "qwen2.embedding_length", UINT32_MAX);
    refuses(STATUS_UNSUPPORTED, "key 'qwen2.embedding_length' is 4294967295");
    write_all_but("");
    gguf_writer_u32(&writer, "qwen2.attention.head_count_kv", 3);
    refuses(STATUS_CORRUPT, "4 heads cannot share 3 K/V heads");
    write_all_but("");
    gguf_writer_u32(&writer, "qwen2.attention.head_count_kv", 0);
    refuses(STATUS_UNSUPPORTED, "head_count_kv' is 0");
    write_all_but("");
    gguf_writer_u32(&writer, "qwen2.attention.value_length", 8);
    refuses(STATUS_UNSUPPORTED, "K heads are 16 long and V heads 8");
    write_all_but("");
    gguf_writer_u32(&writer, "qwen2.vocab_size", 0);
    refuses(STATUS_UNSUPPORTED, "vocabulary of 0 tokens");
}

Test(model_shape, an_architecture_that_is_no_short_name_is_refused)
{
    gguf_writer_init(&writer);
    refuses(STATUS_NOT_FOUND, "general.architecture");
    gguf_writer_string(&writer, "general.architecture",
                       "a-name-of-thirty-two-characters.");
    refuses(STATUS_UNSUPPORTED, "general.architecture");
}
