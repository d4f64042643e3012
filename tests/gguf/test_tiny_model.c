#include "common/gguf/model_shape.h"
#include "tests/gguf/gguf_fixture.h"
#include <criterion/criterion.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

static struct span read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(size);
    cr_assert_eq(fread(data, 1, size, file), size);
    fclose(file);
    return (struct span){data, size};
}

static void check_bytes(const char *path, const char *wanted)
{
    struct span bytes = read_file(path);
    uint8_t digest[32];
    char found[65];
    EVP_Digest(bytes.data, bytes.size, digest, NULL, EVP_sha256(), NULL);
    for (int i = 0; i < 32; i++)
        snprintf(found + 2 * i, 3, "%02x", digest[i]);
    cr_assert_str_eq(found, wanted, "%s", path);
    free((void *)bytes.data);
}

/* Stored answers of other tests rest on these bytes. */
Test(tiny_model, is_the_same_on_every_machine)
{
    check_bytes(TINY_MODEL, TINY_SHA256);
    check_bytes(TINY_SPM_MODEL, TINY_SPM_SHA256);
}

/* Which of the formats a file uses, as bits by row of the table. */
static uint32_t formats_used(const char *path, struct model_shape *shape)
{
    struct gguf *gguf;
    struct fault fault;
    uint32_t rows_count, used = 0;
    const struct gguf_type *rows = gguf_type_rows(&rows_count);
    cr_assert_eq(gguf_open(&gguf, path, &fault), STATUS_OK, "%s", fault.sentence);
    cr_assert_eq(model_shape_read(gguf, shape, &fault), STATUS_OK, "%s", fault.sentence);
    for (uint64_t i = 0; i < gguf_tensors_count(gguf); i++)
        used |= 1u << (gguf_type_find(gguf_tensor_at(gguf, i)->type) - rows);
    gguf_close(gguf);
    return used;
}

Test(tiny_model, is_a_llama_that_uses_every_format)
{
    struct model_shape shape;
    uint32_t rows_count;
    gguf_type_rows(&rows_count);
    uint32_t spm = formats_used(TINY_SPM_MODEL, &shape);
    cr_assert_eq(shape.layers_count, 5);
    cr_assert_eq(spm | formats_used(TINY_MODEL, &shape), (1u << rows_count) - 1);
    cr_assert_str_eq(shape.architecture, "llama");
    cr_assert_eq(shape.layers_count, 3);
    cr_assert_eq(shape.embedding_length, 64);
    cr_assert_eq(shape.kv_heads_count, 2);
    cr_assert_eq(shape.key_length, 16);
    cr_assert_eq(shape.context_length, 512);
}

/* Cut at every hundredth. */
Test(tiny_model, cut_anywhere_is_refused)
{
    struct span bytes = read_file(TINY_MODEL);
    struct fault fault;
    for (size_t percent = 0; percent < 100; percent++)
        cr_assert_neq(fixture_try(bytes.data, bytes.size * percent / 100, &fault),
                      STATUS_OK, "%zu%%", percent);
    for (size_t less = 1; less < 200; less++)
        cr_assert_eq(fixture_try(bytes.data, bytes.size - less, &fault), STATUS_CORRUPT,
                     "%zu", less);
    cr_assert_eq(fixture_try(bytes.data, bytes.size, &fault), STATUS_OK);
    free((void *)bytes.data);
}
