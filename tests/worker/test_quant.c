#include "common/gguf/gguf_type.h"
#include "worker/math/half.h"
#include "worker/math/quant.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* quant_golden.bin is described in make_quant_golden.py. */
struct golden {
    uint32_t type, values_count, bytes_count;
};

#define VALUES_MAX 512

static const struct gguf_type *type_of(const struct golden *golden)
{
    const struct gguf_type *type = gguf_type_find(golden->type);
    cr_assert_not_null(type, "format %u", golden->type);
    cr_assert_eq((uint64_t)golden->values_count / type->block_elements *
                     type->block_bytes,
                 golden->bytes_count, "%s", type->name);
    return type;
}

/* The blocks are read from an odd address, since nothing promises them a better one. */
static void check(const struct golden *golden, const uint8_t *odd, const float *wanted)
{
    const struct gguf_type *type = type_of(golden);
    float found[VALUES_MAX];
    for (const struct quant_variant *const *v = quant_variants(); *v; v++) {
        memset(found, 0x55, sizeof found);
        quant_find(*v, golden->type)(odd, golden->values_count / type->block_elements,
                                     found);
        for (uint32_t i = 0; i < golden->values_count; i++)
            cr_assert_eq(bits_of_float(found[i]), bits_of_float(wanted[i]),
                         "%s %s value %u: %a, not %a", (*v)->name, type->name, i,
                         (double)found[i], (double)wanted[i]);
    }
    memset(found, 0x55, sizeof found);
    quant_dequantize(golden->type, odd, golden->values_count, found);
    cr_assert_arr_eq(found, wanted, golden->values_count * sizeof *found);
}

Test(quant, every_format_gives_the_bits_of_the_python_package)
{
    FILE *file = fopen(QUANT_GOLDEN, "rb");
    cr_assert_not_null(file);
    static uint8_t bytes[1 + VALUES_MAX * sizeof(float)];
    static float wanted[VALUES_MAX];
    struct golden golden;
    uint32_t records_count = 0;
    while (fread(&golden, sizeof golden, 1, file) == 1) {
        cr_assert_leq(golden.bytes_count, sizeof bytes - 1);
        cr_assert_leq(golden.values_count, VALUES_MAX);
        cr_assert_eq(fread(bytes + 1, 1, golden.bytes_count, file), golden.bytes_count);
        cr_assert_eq(fread(wanted, sizeof *wanted, golden.values_count, file),
                     golden.values_count);
        check(&golden, bytes + 1, wanted);
        records_count++;
    }
    fclose(file);
    cr_assert_eq(records_count, 23);
}

Test(quant, every_variant_has_every_format)
{
    uint32_t rows_count;
    const struct gguf_type *rows = gguf_type_rows(&rows_count);
    cr_assert_eq(rows_count, 13);
    for (const struct quant_variant *const *v = quant_variants(); *v; v++)
        for (uint32_t row = 0; row < rows_count; row++)
            cr_assert_not_null(quant_find(*v, rows[row].number), "%s %s", (*v)->name,
                               rows[row].name);
    cr_assert_null(quant_find(quant_variants()[0], 4), "Q4_2 left the format long ago");
}

/* Writes exactly what was asked for: the value after the last stays as it was. */
Test(quant, nothing_past_the_last_value_is_written)
{
    uint32_t rows_count;
    const struct gguf_type *rows = gguf_type_rows(&rows_count);
    for (uint32_t row = 0; row < rows_count; row++) {
        uint8_t *block = calloc(1, rows[row].block_bytes);
        float *out = malloc((rows[row].block_elements + 1) * sizeof *out);
        out[rows[row].block_elements] = 7.0f;
        quant_dequantize(rows[row].number, block, rows[row].block_elements, out);
        cr_assert_eq(out[0], 0.0f);
        cr_assert_eq(out[rows[row].block_elements], 7.0f);
        quant_dequantize(rows[row].number, block, 0, out + rows[row].block_elements);
        cr_assert_eq(out[rows[row].block_elements], 7.0f);
        free(block);
        free(out);
    }
}

Test(quant, the_widest_variant_that_agrees_with_portable_is_chosen)
{
    const struct quant_variant *const *last = quant_variants();
    while (last[1])
        last++;
    cr_assert_str_eq(quant_choose(), (*last)->name);
}
