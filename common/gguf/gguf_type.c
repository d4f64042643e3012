#include "common/gguf/gguf_type.h"

static const struct gguf_type rows[] = {
#define ROW(name, function, number, elements, bytes) {number, #name, elements, bytes},
    GGUF_TYPE_TABLE(ROW)
#undef ROW
};

#define ROWS_COUNT (sizeof rows / sizeof rows[0])

const struct gguf_type *gguf_type_find(uint32_t number)
{
    for (size_t row = 0; row < ROWS_COUNT; row++)
        if (rows[row].number == number)
            return &rows[row];
    return NULL;
}

const struct gguf_type *gguf_type_rows(uint32_t *count)
{
    *count = ROWS_COUNT;
    return rows;
}

const char *gguf_type_name_at(size_t index)
{
    return index < ROWS_COUNT ? rows[index].name : NULL;
}
