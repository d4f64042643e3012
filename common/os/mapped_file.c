#include "common/os/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind_of(mode_t mode)
{
    return S_ISDIR(mode)    ? "a directory"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

/* Checks what descriptor is and maps it. */
static enum status map_descriptor(struct mapped_file *file, int descriptor,
                                  const char *path, struct fault *fault)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        return fault_set(fault, STATUS_IO, NULL, "%s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return fault_set(fault, STATUS_IO, NULL, "%s: is %s; a regular file is needed",
                         path, kind_of(about.st_mode));
    if (about.st_size == 0)
        return fault_set(fault, STATUS_IO, NULL, "%s: is empty; fetch it again", path);
    void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED)
        return fault_set(fault, STATUS_IO, NULL, "%s: cannot be mapped: %s", path,
                         strerror(errno));
    *file = (struct mapped_file){data, (uint64_t)about.st_size};
    return STATUS_OK;
}

enum status mapped_file_open(struct mapped_file *file, const char *path,
                             struct fault *fault)
{
    /* O_NONBLOCK: opening a pipe that nobody writes to must not wait. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return fault_set(fault, STATUS_IO, NULL, "%s: cannot be opened: %s", path,
                         strerror(errno));
    enum status status = map_descriptor(file, descriptor, path, fault);
    close(descriptor);
    return status;
}

void mapped_file_close(struct mapped_file *file)
{
    munmap((void *)file->data, (size_t)file->size_bytes);
    *file = (struct mapped_file){0};
}
