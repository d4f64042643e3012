/* gguf_tensors.h - the tensor table of a GGUF file, and where the tensors' bytes lie.
 *
 * After a read every tensor has a known format, 1 to 4 dimensions whose product does not
 * overflow, rows of whole blocks, an aligned offset, an end within the file, no byte in
 * common with another tensor and a name of its own.
 */
#ifndef ROPEWAY_COMMON_GGUF_GGUF_TENSORS_H
#define ROPEWAY_COMMON_GGUF_GGUF_TENSORS_H

#include "common/gguf/gguf.h"
#include "common/gguf/gguf_reader.h"

/* An entry of an order of tensors. */
struct gguf_tensor_reference {
    const struct gguf_tensor *tensor;
};

struct gguf_tensors {
    struct gguf_tensor *tensors; /* in the file's order */
    struct gguf_tensor_reference *by_name;
    uint64_t count;
    uint64_t data_start; /* of the data section, in the file */
};

/* Reads count tensors at the reader's place. On failure nothing needs to be freed. */
enum status gguf_tensors_read(struct gguf_tensors *tensors, struct gguf_reader *reader,
                              uint64_t count, uint32_t alignment);
void gguf_tensors_free(struct gguf_tensors *tensors);

/* NULL when there is none of that name. */
const struct gguf_tensor *gguf_tensors_find(const struct gguf_tensors *tensors,
                                            const char *name);

#endif
