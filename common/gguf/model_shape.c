#include "common/gguf/model_shape.h"

#include <stddef.h>
#include <stdio.h>

/* "<architecture>.attention.head_count_kv" and the like. */
#define KEY_BYTES 128

/* One number of the shape: its key behind the architecture's name and its bounds, which
 * are past every known model and keep products of two of them within 64 bits. */
struct shape_row {
    const char *key;
    size_t offset;
    uint32_t least, most;
    bool needed; /* others have a default, set before */
};

#define ROW(key, field, least, most, needed)                                             \
    {                                                                                    \
        key, offsetof(struct model_shape, field), least, most, needed                    \
    }

static const struct shape_row rows[] = {
    ROW("block_count", layers_count, 1, 4096, true),
    ROW("embedding_length", embedding_length, 1, 1 << 18, true),
    ROW("feed_forward_length", feed_forward_length, 1, 1 << 22, true),
    ROW("context_length", context_length, 1, 1 << 28, true),
    ROW("attention.head_count", heads_count, 1, 4096, true),
    ROW("attention.head_count_kv", kv_heads_count, 1, 4096, false),
    ROW("attention.key_length", key_length, 1, 4096, false),
};

#define ROWS_COUNT      (sizeof rows / sizeof rows[0])
#define VOCABULARY_MOST (1 << 24)

static void key_of(char key[KEY_BYTES], const struct model_shape *shape,
                   const char *suffix)
{
    snprintf(key, KEY_BYTES, "%s.%s", shape->architecture, suffix);
}

static enum status read_architecture(const struct gguf *gguf, struct model_shape *shape,
                                     struct fault *fault)
{
    struct span name;
    enum status status = gguf_get_string(gguf, "general.architecture", &name, fault);
    if (status != STATUS_OK)
        return status;
    if (name.size == 0 || name.size >= sizeof shape->architecture ||
        memchr(name.data, '\0', name.size))
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "%s: key 'general.architecture' is not a name of 1 to %zu bytes",
                         gguf_path(gguf), sizeof shape->architecture - 1);
    memcpy(shape->architecture, name.data, name.size);
    return STATUS_OK;
}

static enum status read_row(const struct gguf *gguf, struct model_shape *shape,
                            const struct shape_row *row, struct fault *fault)
{
    char key[KEY_BYTES];
    key_of(key, shape, row->key);
    uint32_t *value = (uint32_t *)((char *)shape + row->offset);
    if (row->needed || gguf_has(gguf, key)) {
        enum status status = gguf_get_u32(gguf, key, value, fault);
        if (status != STATUS_OK)
            return status;
    }
    if (*value < row->least || *value > row->most)
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "%s: key '%s' is %u; %u to %u can be served", gguf_path(gguf),
                         key, *value, row->least, row->most);
    return STATUS_OK;
}

/* As many K/V heads as heads, and heads that share the embedding, where nothing is said.
 */
static void set_defaults(const struct gguf *gguf, struct model_shape *shape)
{
    char key[KEY_BYTES];
    struct fault ignored;
    uint32_t embedding = 0, heads = 0;
    key_of(key, shape, "embedding_length");
    gguf_get_u32(gguf, key, &embedding, &ignored);
    key_of(key, shape, "attention.head_count");
    gguf_get_u32(gguf, key, &heads, &ignored);
    shape->kv_heads_count = heads;
    shape->key_length = heads > 0 ? embedding / heads : 0;
}

/* The vocabulary is what the tokenizer has; files without one state its size. */
static enum status read_vocabulary(const struct gguf *gguf, struct model_shape *shape,
                                   struct fault *fault)
{
    char key[KEY_BYTES] = "tokenizer.ggml.tokens";
    struct gguf_array tokens = {0};
    enum status status;
    if (gguf_has(gguf, key)) {
        status = gguf_get_array(gguf, key, GGUF_STRING, &tokens, fault);
    } else {
        key_of(key, shape, "vocab_size");
        status = gguf_get_u32(gguf, key, &shape->vocabulary_count, fault);
        tokens.count = shape->vocabulary_count;
    }
    if (status != STATUS_OK)
        return status;
    if (tokens.count == 0 || tokens.count > VOCABULARY_MOST)
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "%s: has a vocabulary of %llu tokens; 1 to %d can be served",
                         gguf_path(gguf), (unsigned long long)tokens.count,
                         VOCABULARY_MOST);
    shape->vocabulary_count = (uint32_t)tokens.count;
    return STATUS_OK;
}

static enum status check_heads(const struct gguf *gguf, const struct model_shape *shape,
                               struct fault *fault)
{
    char key[KEY_BYTES];
    uint32_t value_length = shape->key_length;
    key_of(key, shape, "attention.value_length");
    if (gguf_has(gguf, key)) {
        enum status status = gguf_get_u32(gguf, key, &value_length, fault);
        if (status != STATUS_OK)
            return status;
    }
    if (value_length != shape->key_length)
        return fault_set(
            fault, STATUS_UNSUPPORTED, NULL,
            "%s: K heads are %u long and V heads %u; only equal lengths can be "
            "served",
            gguf_path(gguf), shape->key_length, value_length);
    if (shape->heads_count % shape->kv_heads_count != 0)
        return fault_set(fault, STATUS_CORRUPT, NULL,
                         "%s: %u heads cannot share %u K/V heads evenly", gguf_path(gguf),
                         shape->heads_count, shape->kv_heads_count);
    return STATUS_OK;
}

enum status model_shape_read(const struct gguf *gguf, struct model_shape *shape,
                             struct fault *fault)
{
    *shape = (struct model_shape){0};
    enum status status = read_architecture(gguf, shape, fault);
    if (status != STATUS_OK)
        return status;
    set_defaults(gguf, shape);
    for (size_t row = 0; row < ROWS_COUNT; row++) {
        status = read_row(gguf, shape, &rows[row], fault);
        if (status != STATUS_OK)
            return status;
    }
    status = check_heads(gguf, shape, fault);
    if (status == STATUS_OK)
        status = read_vocabulary(gguf, shape, fault);
    if (status == STATUS_OK)
        gguf_identity(gguf, shape->identity);
    return status;
}

enum status model_shape_read_file(const char *path, struct model_shape *shape,
                                  struct fault *fault)
{
    struct gguf *gguf;
    enum status status = gguf_open(&gguf, path, fault);
    if (status != STATUS_OK)
        return status;
    status = model_shape_read(gguf, shape, fault);
    gguf_close(gguf);
    return status;
}

uint64_t model_shape_block_bytes(const struct model_shape *shape, uint32_t block_size,
                                 uint32_t element_bytes)
{
    uint64_t row_bytes =
        (uint64_t)shape->kv_heads_count * shape->key_length * element_bytes;
    return (uint64_t)shape->layers_count * 2 * block_size * row_bytes;
}
