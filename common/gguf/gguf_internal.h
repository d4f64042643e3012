/* gguf_internal.h - the parts of a struct gguf, for the files that make it up. */
#ifndef ROPEWAY_COMMON_GGUF_GGUF_INTERNAL_H
#define ROPEWAY_COMMON_GGUF_GGUF_INTERNAL_H

#include "common/gguf/gguf_tensors.h"
#include "common/gguf/gguf_values.h"
#include "common/os/mapped_file.h"

struct gguf {
    char *path;
    const uint8_t *data;
    uint64_t size_bytes;
    struct mapped_file file; /* data NULL where the bytes are the caller's */
    struct gguf_values values;
    struct gguf_tensors tensors;
};

#endif
