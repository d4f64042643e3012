/* Any bytes as a GGUF file: they open or are refused, and what opened can be read in
 * full. */
#include "common/base/invariant.h"
#include "common/gguf/model_shape.h"
#include "common/text/tokenizer_gguf.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Touches the first and the last byte, which lie in the file. */
static void touch(const void *data, uint64_t size_bytes)
{
    static volatile uint8_t sink;
    if (size_bytes > 0)
        sink = ((const uint8_t *)data)[0] ^ ((const uint8_t *)data)[size_bytes - 1];
    (void)sink;
}

static void read_tensors(const struct gguf *gguf)
{
    for (uint64_t i = 0; i < gguf_tensors_count(gguf); i++) {
        const struct gguf_tensor *tensor = gguf_tensor_at(gguf, i);
        INVARIANT(gguf_type_find(tensor->type) != NULL);
        touch(tensor->data, tensor->size_bytes);
        touch(tensor->name.data, tensor->name.size);
    }
}

static void read_strings(const struct gguf *gguf, const char *key)
{
    struct gguf_array array;
    struct fault fault;
    struct span text;
    uint64_t cursor = 0, count = 0;
    if (gguf_get_array(gguf, key, GGUF_STRING, &array, &fault) != STATUS_OK)
        return;
    for (; gguf_next_string(&array, &cursor, &text); count++)
        touch(text.data, text.size);
    INVARIANT(count == array.count);
}

static void read_numbers(const struct gguf *gguf)
{
    struct fault fault;
    struct model_shape shape;
    struct tokenizer *tokenizer;
    struct span text;
    uint32_t number;
    float real;
    bool flag;
    gguf_get_u32(gguf, "a.u32", &number, &fault);
    gguf_get_f32(gguf, "a.f32", &real, &fault);
    gguf_get_bool(gguf, "a.bool", &flag, &fault);
    if (gguf_get_string(gguf, "general.name", &text, &fault) == STATUS_OK)
        touch(text.data, text.size);
    if (model_shape_read(gguf, &shape, &fault) == STATUS_OK)
        INVARIANT(shape.heads_count % shape.kv_heads_count == 0);
    if (tokenizer_gguf_create(&tokenizer, gguf, &fault) == STATUS_OK)
        tokenizer_destroy(tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gguf *gguf;
    struct fault fault = {0};
    enum status status = gguf_open_bytes(&gguf, "fuzz", data, size, &fault);
    if (status != STATUS_OK) {
        INVARIANT(fault.status == status && fault.sentence[0] != '\0');
        return 0;
    }
    read_tensors(gguf);
    read_strings(gguf, "tokenizer.ggml.tokens");
    read_strings(gguf, "a.strings");
    read_numbers(gguf);
    gguf_close(gguf);
    return 0;
}
