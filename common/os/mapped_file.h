/* mapped_file.h - a regular file mapped read-only. */
#ifndef ROPEWAY_COMMON_OS_MAPPED_FILE_H
#define ROPEWAY_COMMON_OS_MAPPED_FILE_H

#include "common/base/status.h"
#include <stdint.h>

struct mapped_file {
    const void *data;
    uint64_t size_bytes;
};

/* Refuses directories, devices and empty files with a sentence (STATUS_IO). */
enum status mapped_file_open(struct mapped_file *file, const char *path,
                             struct fault *fault);
void mapped_file_close(struct mapped_file *file);

#endif
