/* model_shape.h - the numbers of a model that every process needs, read from GGUF
 * metadata.
 *
 * The scheduler sizes the KV pool by them, the frontend bounds prompts by them, the
 * worker checks every tensor against them. Keys are the architecture's own:
 * "<arch>.block_count".
 */
#ifndef ROPEWAY_COMMON_GGUF_MODEL_SHAPE_H
#define ROPEWAY_COMMON_GGUF_MODEL_SHAPE_H

#include "common/gguf/gguf.h"

struct model_shape {
    char architecture[32];
    uint32_t layers_count;
    uint32_t embedding_length;
    uint32_t feed_forward_length;
    uint32_t heads_count;
    uint32_t kv_heads_count;
    uint32_t key_length; /* of one head; V has the same length or the file is refused */
    uint32_t vocabulary_count;
    uint32_t context_length;
    uint8_t identity[32]; /* gguf_identity */
};

enum status model_shape_read(const struct gguf *gguf, struct model_shape *shape,
                             struct fault *fault);

/* The same of the file at path, which is opened for it alone. */
enum status model_shape_read_file(const char *path, struct model_shape *shape,
                                  struct fault *fault);

/* Bytes of one KV block: layers x (K and V) x block_size tokens x kv_heads x key_length.
 */
uint64_t model_shape_block_bytes(const struct model_shape *shape, uint32_t block_size,
                                 uint32_t element_bytes);

#endif
