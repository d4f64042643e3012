#include "tests/gguf/gguf_fixture.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static struct gguf_writer writer;

static void setup(void)
{
    fixture_good(&writer);
}

static void teardown(void)
{
    gguf_writer_fini(&writer);
}

/* Starts again from the good file. */
static void restart(void)
{
    teardown();
    setup();
}

TestSuite(hostile, .init = setup, .fini = teardown);

Test(hostile, every_proper_prefix_of_a_good_file_is_refused)
{
    struct buffer file;
    struct fault fault;
    buffer_init(&file, 1 << 20);
    gguf_writer_finish(&writer, &file);
    cr_assert_eq(fixture_try(file.data, file.size, &fault), STATUS_OK);
    for (size_t size = 0; size < file.size; size++) {
        enum status status = fixture_try(file.data, size, &fault);
        cr_assert_eq(status, size < 4 ? STATUS_UNSUPPORTED : STATUS_CORRUPT,
                     "%zu bytes: %s", size, fault.sentence);
        if (size >= 4)
            cr_assert_not_null(strstr(fault.sentence, "cut off"), "%zu: %s", size,
                               fault.sentence);
    }
    buffer_fini(&file);
}

Test(hostile, a_cut_tensor_is_named_with_the_bytes_wanted_and_found)
{
    struct buffer file;
    struct fault fault;
    char wanted[FAULT_SENTENCE_BYTES];
    buffer_init(&file, 1 << 20);
    gguf_writer_finish(&writer, &file);
    fixture_try(file.data, file.size - 1, &fault);
    snprintf(wanted, sizeof wanted,
             "model.gguf: tensor 'block' ends at byte %zu but the file has %zu bytes; it "
             "may be cut off, fetch it again",
             file.size, file.size - 1);
    cr_assert_str_eq(fault.sentence, wanted);
    buffer_fini(&file);
}

/* --- counts and lengths that the file cannot hold ----------------------------------- */

#define HUGE_COUNT (1ull << 63)
#define LARGE      (1ull << 62)

static void huge_keys_count(void)
{
    writer.keys_count = HUGE_COUNT;
}

static void huge_tensors_count(void)
{
    writer.tensors_count = HUGE_COUNT;
}

static void huge_string(void)
{
    gguf_writer_key(&writer, "s", GGUF_STRING);
    gguf_write_u64(&writer.metadata, HUGE_COUNT);
}

static void string_longer_than_the_file(void)
{
    gguf_writer_key(&writer, "s", GGUF_STRING);
    gguf_write_u64(&writer.metadata, 4096);
}

static void huge_key(void)
{
    writer.keys_count++;
    gguf_write_u64(&writer.metadata, HUGE_COUNT);
}

static void huge_bytes_array(void)
{
    gguf_writer_array(&writer, "x", GGUF_U8, LARGE);
}

static void overflowing_numbers_array(void)
{
    gguf_writer_array(&writer, "x", GGUF_U64, (UINT64_MAX / 8) + 2);
}

static void huge_strings_array(void)
{
    gguf_writer_array(&writer, "x", GGUF_STRING, LARGE);
}

static void huge_array_of_arrays(void)
{
    gguf_writer_array(&writer, "x", GGUF_ARRAY, LARGE);
}

static void huge_tensor_name(void)
{
    writer.tensors_count++;
    gguf_write_u64(&writer.table, HUGE_COUNT);
}

static void (*const hostile_lengths[])(void) = {
    huge_keys_count,    huge_tensors_count,
    huge_string,        huge_key,
    huge_bytes_array,   overflowing_numbers_array,
    huge_strings_array, huge_array_of_arrays,
    huge_tensor_name,   string_longer_than_the_file,
};

static long resident_bytes(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss * 1024;
}

/* At most 50 ms and 20 MB, whatever the numbers say. */
Test(hostile, lengths_past_the_file_are_refused_at_once)
{
    long before = resident_bytes();
    for (size_t i = 0; i < sizeof hostile_lengths / sizeof hostile_lengths[0]; i++) {
        restart();
        hostile_lengths[i]();
        clock_t start = clock();
        fixture_refuses(&writer, STATUS_CORRUPT, "cut off");
        cr_assert_lt(clock() - start, CLOCKS_PER_SEC / 20, "%zu", i);
    }
    cr_assert_lt(resident_bytes() - before, 20 << 20);
}

/* As many entries as fit the bytes, but more than any model has. */
Test(hostile, more_keys_or_tensors_than_any_model_has_are_refused)
{
    static char zeros[8 << 20];
    long before = resident_bytes();
    buffer_append(&writer.data, zeros, sizeof zeros);
    writer.keys_count = sizeof zeros / 16;
    fixture_refuses(&writer, STATUS_UNSUPPORTED, "metadata keys");
    writer.keys_count = 6;
    writer.tensors_count = sizeof zeros / 64;
    fixture_refuses(&writer, STATUS_UNSUPPORTED, "tensors; at most");
    /* The file, its copies and the growing buffer are ours. */
    cr_assert_lt(resident_bytes() - before, (20 << 20) + 6 * (long)sizeof zeros);
}

/* depth arrays of one element each around an empty array of numbers. */
static void nest(int depth)
{
    gguf_writer_array(&writer, "x", GGUF_ARRAY, 1);
    for (int i = 2; i < depth; i++) {
        gguf_write_u32(&writer.metadata, GGUF_ARRAY);
        gguf_write_u64(&writer.metadata, 1);
    }
    gguf_write_u32(&writer.metadata, GGUF_U8);
    gguf_write_u64(&writer.metadata, 0);
}

Test(hostile, arrays_nest_a_few_levels_and_no_more)
{
    nest(4);
    fixture_accepts(&writer);
    restart();
    nest(5);
    fixture_refuses(&writer, STATUS_UNSUPPORTED, "nests arrays");
    restart();
    nest(100000);
    fixture_refuses(&writer, STATUS_UNSUPPORTED, "nests arrays");
}

/* --- metadata ----------------------------------------------------------------------- */

static void write_long_key(size_t size)
{
    static char key[70000];
    memset(key, 'k', size);
    writer.keys_count++;
    gguf_write_string(&writer.metadata, (struct span){key, size});
    gguf_write_u32(&writer.metadata, GGUF_U8);
    buffer_append_byte(&writer.metadata, 0);
}

Test(hostile, keys_have_1_to_65535_bytes)
{
    write_long_key(65535);
    fixture_accepts(&writer);
    restart();
    write_long_key(65536);
    fixture_refuses(&writer, STATUS_CORRUPT, "kkk...");
    restart();
    write_long_key(0);
    fixture_refuses(&writer, STATUS_CORRUPT, "key ''");
}

Test(hostile, a_key_or_tensor_that_is_there_twice_is_named)
{
    gguf_writer_u32(&writer, "a.bool", 1);
    fixture_refuses(&writer, STATUS_CORRUPT, "key 'a.bool' is there twice");
    restart();
    gguf_writer_tensor(&writer, "floats", GGUF_TYPE_F32, 1, 0);
    gguf_write_u32(&writer.data, 0);
    fixture_refuses(&writer, STATUS_CORRUPT, "tensor 'floats' is there twice");
}

Test(hostile, values_of_unknown_types_and_bools_of_other_bytes_are_refused)
{
    gguf_writer_key(&writer, "x", 13);
    fixture_refuses(&writer, STATUS_CORRUPT, "unknown type 13");
    restart();
    gguf_writer_array(&writer, "x", UINT32_MAX, 1);
    fixture_refuses(&writer, STATUS_CORRUPT, "unknown type 4294967295");
    restart();
    gguf_writer_key(&writer, "x", GGUF_BOOL);
    buffer_append_byte(&writer.metadata, 2);
    fixture_refuses(&writer, STATUS_CORRUPT, "key 'x' is a bool");
}

Test(hostile, alignment_is_a_power_of_two_up_to_65536)
{
    static const uint32_t good[] = {1, 2, 8, 32, 64, 4096, 65536};
    static const uint32_t bad[] = {0, 3, 33, 131072, 1u << 20, 1u << 30, UINT32_MAX};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        gguf_writer_fini(&writer);
        gguf_writer_init(&writer);
        writer.alignment = good[i];
        gguf_writer_u32(&writer, "general.alignment", good[i]);
        for (int tensor = 0; tensor < 2; tensor++) {
            gguf_writer_tensor(&writer, tensor ? "a" : "b", GGUF_TYPE_F16, 1, 0);
            buffer_append(&writer.data, "xy", 2);
        }
        fixture_accepts(&writer);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        restart();
        gguf_writer_u32(&writer, "general.alignment", bad[i]);
        fixture_refuses(&writer, STATUS_CORRUPT, "general.alignment");
    }
}

Test(hostile, alignment_of_another_type_or_twice_is_refused)
{
    gguf_writer_string(&writer, "general.alignment", "32");
    fixture_refuses(&writer, STATUS_CORRUPT, "is of type string, not u32");
    restart();
    gguf_writer_key(&writer, "general.alignment", GGUF_U64);
    gguf_write_u64(&writer.metadata, 32);
    fixture_refuses(&writer, STATUS_CORRUPT, "is of type u64, not u32");
    restart();
    gguf_writer_u32(&writer, "general.alignment", 32);
    gguf_writer_u32(&writer, "general.alignment", 32);
    fixture_refuses(&writer, STATUS_CORRUPT, "twice");
}

Test(hostile, a_part_of_a_split_model_is_named)
{
    gguf_writer_u32(&writer, "split.count", 1);
    fixture_accepts(&writer);
    restart();
    gguf_writer_u32(&writer, "split.no", 1);
    gguf_writer_u32(&writer, "split.count", 3);
    fixture_refuses(&writer, STATUS_UNSUPPORTED,
                    "is part 2 of a model split into 3 files; join them");
}

/* --- tensors ------------------------------------------------------------------------ */

static const uint64_t eight[9] = {8, 1, 1, 1, 1, 1, 1, 1, 1};

Test(hostile, tensors_have_1_to_4_dimensions)
{
    static const uint32_t bad[] = {0, 5, 8, 9, 4096, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        restart();
        fixture_tensor(&writer, "x", bad[i], eight, bad[i] < 9 ? bad[i] : 0, 0, 0);
        fixture_refuses(&writer, STATUS_CORRUPT, "tensor 'x' must have 1 to 4");
    }
    gguf_writer_fini(&writer);
    gguf_writer_init(&writer);
    fixture_tensor(&writer, "x", 4, eight, 4, GGUF_TYPE_F32, 0);
    buffer_append(&writer.data, eight, 32);
    fixture_accepts(&writer);
}

Test(hostile, sizes_that_overflow_or_are_empty_are_refused)
{
    static const uint64_t bad[][4] = {
        {1ull << 32, 1ull << 32, 1, 1}, {1ull << 62, 1, 1, 1},
        {UINT64_MAX, 1, 1, 1},          {1ull << 20, 1ull << 20, 1ull << 20, 1ull << 20},
        {1, 1, 1ull << 63, 2},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        restart();
        fixture_tensor(&writer, "x", 4, bad[i], 4, GGUF_TYPE_F32, 0);
        fixture_refuses(&writer, STATUS_CORRUPT, "tensor 'x' is larger than any file");
    }
    static const uint64_t empty[4] = {8, 0, UINT64_MAX, 1};
    restart();
    fixture_tensor(&writer, "x", 4, empty, 4, GGUF_TYPE_F32, 0);
    fixture_refuses(&writer, STATUS_CORRUPT, "tensor 'x' has an empty dimension");
}

Test(hostile, rows_are_whole_blocks_of_a_known_format)
{
    static const uint32_t bad[] = {4, 5, 9, 15, 16, 31, 39, UINT32_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char words[64];
        restart();
        fixture_tensor(&writer, "x", 1, eight, 1, bad[i], 0);
        snprintf(words, sizeof words, "tensor 'x' has format number %u,", bad[i]);
        fixture_refuses(&writer, STATUS_UNSUPPORTED, words);
    }
    restart();
    fixture_tensor(&writer, "x", 1, eight, 1, GGUF_TYPE_Q8_0, 0);
    fixture_refuses(&writer, STATUS_CORRUPT, "tensor 'x' has rows that are no whole");
    static const uint64_t half[1] = {128};
    restart();
    fixture_tensor(&writer, "x", 1, half, 1, GGUF_TYPE_Q4_K, 0);
    fixture_refuses(&writer, STATUS_CORRUPT, "tensor 'x' has rows that are no whole");
}

Test(hostile, offsets_are_aligned_in_the_file_and_of_one_tensor_each)
{
    static const struct {
        uint64_t offset;
        const char *words;
    } bad[] = {
        {UINT64_MAX - 31, "tensor 'x' has an offset past any file"},
        {1ull << 40, "tensor 'x' ends at byte"},
        {128, "tensor 'x' ends at byte"},
        {65, "tensor 'x' is not aligned"},
        {48, "tensor 'x' is not aligned"},
        {32, "overlaps another"},
        {64, "overlaps another"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        restart();
        fixture_tensor(&writer, "x", 1, eight, 1, GGUF_TYPE_F32, bad[i].offset);
        fixture_refuses(&writer, STATUS_CORRUPT, bad[i].words);
    }
}

Test(hostile, tensor_names_have_1_to_255_bytes_and_print_safely)
{
    char name[300] = {0};
    fixture_tensor(&writer, "", 1, eight, 1, GGUF_TYPE_F32, 0);
    fixture_refuses(&writer, STATUS_CORRUPT, "must have a name of 1 to 255");
    restart();
    memset(name, 'n', 256);
    fixture_tensor(&writer, name, 1, eight, 1, GGUF_TYPE_F32, 0);
    fixture_refuses(&writer, STATUS_CORRUPT, "must have a name of 1 to 255");
    restart();
    fixture_tensor(&writer, "a\nb\x1b[2J\xff", 1, eight, 1, 99, 0);
    fixture_refuses(&writer, STATUS_UNSUPPORTED, "tensor 'a?b?[2J?'");
}
