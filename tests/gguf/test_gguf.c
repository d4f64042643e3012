#include "tests/gguf/gguf_fixture.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The good file, open. */
static struct gguf_writer writer;
static struct buffer file;
static struct gguf *gguf;
static struct fault fault;

static void reopen(void)
{
    buffer_init(&file, 1 << 20);
    gguf_writer_finish(&writer, &file);
    enum status status = gguf_open_bytes(&gguf, "good", file.data, file.size, &fault);
    cr_assert_eq(status, STATUS_OK, "%s", fault.sentence);
}

static void setup(void)
{
    fixture_good(&writer);
    reopen();
}

static void teardown(void)
{
    gguf_close(gguf);
    buffer_fini(&file);
    gguf_writer_fini(&writer);
}

TestSuite(gguf, .init = setup, .fini = teardown);

Test(gguf, tensors_are_where_the_table_says)
{
    cr_assert_eq(gguf_tensors_count(gguf), 2);
    cr_assert_eq(gguf_file_bytes(gguf), file.size);
    const struct gguf_tensor *floats = gguf_find_tensor(gguf, "floats");
    cr_assert_eq(floats, gguf_tensor_at(gguf, 0));
    cr_assert_eq(floats->type, GGUF_TYPE_F32);
    cr_assert_eq(floats->dimensions_count, 2);
    const uint64_t dimensions[GGUF_DIMENSIONS_MAX] = {8, 2, 1, 1};
    cr_assert_arr_eq(floats->dimensions, dimensions, sizeof dimensions);
    cr_assert_eq(floats->size_bytes, 64);
    for (uint32_t i = 0; i < 16; i++)
        cr_assert_eq(((const uint32_t *)floats->data)[i], i);
    const struct gguf_tensor *block = gguf_find_tensor(gguf, "block");
    cr_assert_eq(block, gguf_tensor_at(gguf, 1));
    cr_assert_eq(block->size_bytes, 34);
    cr_assert_eq(((const uint8_t *)block->data)[33], 33);
    cr_assert_null(gguf_find_tensor(gguf, "floats2"));
    cr_assert_null(gguf_find_tensor(gguf, "float"));
    cr_assert_null(gguf_tensor_at(gguf, 2));
}

Test(gguf, values_come_back_by_their_keys)
{
    uint32_t u32 = 0;
    float f32 = 0;
    bool flag = false;
    struct span text;
    cr_assert_eq(gguf_get_u32(gguf, "a.u32", &u32, &fault), STATUS_OK);
    cr_assert_eq(u32, 7);
    cr_assert_eq(gguf_get_f32(gguf, "a.f32", &f32, &fault), STATUS_OK);
    cr_assert_eq(f32, 0.5f);
    cr_assert_eq(gguf_get_bool(gguf, "a.bool", &flag, &fault), STATUS_OK);
    cr_assert(flag);
    cr_assert_eq(gguf_get_string(gguf, "general.architecture", &text, &fault), STATUS_OK);
    cr_assert(span_equal(text, SPAN_LITERAL("llama")));
    cr_assert(gguf_has(gguf, "a.u32"));
    cr_assert_not(gguf_has(gguf, "a.u3"));
}

Test(gguf, arrays_give_every_element_and_end)
{
    struct gguf_array array;
    struct span text;
    uint64_t cursor = 0;
    cr_assert_eq(gguf_get_array(gguf, "a.strings", GGUF_STRING, &array, &fault),
                 STATUS_OK);
    cr_assert_eq(array.count, 3);
    cr_assert(gguf_next_string(&array, &cursor, &text));
    cr_assert(span_equal(text, SPAN_LITERAL("one")));
    cr_assert(gguf_next_string(&array, &cursor, &text));
    cr_assert_eq(text.size, 0);
    cr_assert(gguf_next_string(&array, &cursor, &text));
    cr_assert(span_equal(text, SPAN_LITERAL("three")));
    cr_assert_not(gguf_next_string(&array, &cursor, &text));
    cr_assert_eq(gguf_get_array(gguf, "a.i32s", GGUF_I32, &array, &fault), STATUS_OK);
    cr_assert_eq(array.count, 2);
    cr_assert_eq(gguf_array_u32(&array, 0), 5);
    cr_assert_eq((int32_t)gguf_array_u32(&array, 1), -1);
}

Test(gguf, a_missing_key_and_a_wrong_type_are_told_apart)
{
    uint32_t u32 = 99;
    struct gguf_array array;
    struct span text;
    cr_assert_eq(gguf_get_u32(gguf, "b", &u32, &fault), STATUS_NOT_FOUND);
    cr_assert_str_eq(fault.sentence, "good: key 'b' is missing");
    cr_assert_eq(gguf_get_u32(gguf, "a.f32", &u32, &fault), STATUS_CORRUPT);
    cr_assert_str_eq(fault.sentence, "good: key 'a.f32' is of type f32, not an integer");
    cr_assert_eq(u32, 99);
    cr_assert_eq(gguf_get_string(gguf, "a.strings", &text, &fault), STATUS_CORRUPT);
    cr_assert_str_eq(fault.sentence,
                     "good: key 'a.strings' is of type array of string, not string");
    cr_assert_eq(gguf_get_array(gguf, "a.strings", GGUF_F32, &array, &fault),
                 STATUS_CORRUPT);
    cr_assert_eq(gguf_get_array(gguf, "a.u32", GGUF_U32, &array, &fault), STATUS_CORRUPT);
}

/* One value of each integer type, whether it fits 32 bits, and what it is then. */
struct number {
    uint32_t type;
    uint64_t bits;
    size_t size;
    bool fits;
    uint32_t value;
};

static const struct number numbers[] = {
    {GGUF_U8, 255, 1, true, 255},
    {GGUF_I8, 127, 1, true, 127},
    {GGUF_I8, 0xFF, 1, false, 0},
    {GGUF_U16, 65535, 2, true, 65535},
    {GGUF_I16, 0x8000, 2, false, 0},
    {GGUF_U32, UINT32_MAX, 4, true, UINT32_MAX},
    {GGUF_I32, INT32_MAX, 4, true, INT32_MAX},
    {GGUF_I32, UINT32_MAX, 4, false, 0},
    {GGUF_U64, 1ull << 32, 8, false, 0},
    {GGUF_U64, UINT64_MAX, 8, false, 0},
    {GGUF_U64, 12, 8, true, 12},
    {GGUF_I64, UINT64_MAX, 8, false, 0},
    {GGUF_I64, UINT32_MAX, 8, true, UINT32_MAX},
};

Test(gguf, every_integer_that_fits_32_bits_is_read)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        teardown();
        gguf_writer_init(&writer);
        gguf_writer_key(&writer, "n", numbers[i].type);
        buffer_append(&writer.metadata, &numbers[i].bits, numbers[i].size);
        reopen();
        uint32_t value = 0;
        enum status status = gguf_get_u32(gguf, "n", &value, &fault);
        cr_assert_eq(status, numbers[i].fits ? STATUS_OK : STATUS_CORRUPT, "%zu", i);
        cr_assert_eq(value, numbers[i].value, "%zu", i);
    }
}

Test(gguf, f32_reads_f64_too)
{
    double number = 0.25;
    float value = 0;
    teardown();
    gguf_writer_init(&writer);
    gguf_writer_key(&writer, "n", GGUF_F64);
    buffer_append(&writer.metadata, &number, sizeof number);
    reopen();
    cr_assert_eq(gguf_get_f32(gguf, "n", &value, &fault), STATUS_OK);
    cr_assert_eq(value, 0.25f);
    cr_assert_eq(gguf_tensors_count(gguf), 0);
}

Test(gguf, identity_follows_metadata_table_and_data)
{
    uint8_t first[32], again[32], other[32];
    gguf_identity(gguf, first);
    gguf_identity(gguf, again);
    cr_assert_arr_eq(first, again, sizeof first);
    file.data[file.size - 1] ^= 1; /* the last weight */
    gguf_identity(gguf, other);
    cr_assert_neq(memcmp(first, other, sizeof first), 0);
    file.data[file.size - 1] ^= 1;
    file.data[file.size - 34 - 64] ^= 1; /* the first one */
    gguf_identity(gguf, other);
    cr_assert_neq(memcmp(first, other, sizeof first), 0);
}

Test(gguf, opens_from_a_path)
{
    char path[] = "/tmp/ropeway-test-gguf-XXXXXX";
    int descriptor = mkstemp(path);
    struct gguf *opened;
    cr_assert_eq(write(descriptor, file.data, file.size), (ssize_t)file.size);
    close(descriptor);
    enum status status = gguf_open(&opened, path, &fault);
    unlink(path);
    cr_assert_eq(status, STATUS_OK, "%s", fault.sentence);
    cr_assert_str_eq(gguf_path(opened), path);
    uint8_t here[32], there[32];
    gguf_identity(gguf, here);
    gguf_identity(opened, there);
    cr_assert_arr_eq(here, there, sizeof here);
    gguf_close(opened);
    gguf_close(NULL);
}
