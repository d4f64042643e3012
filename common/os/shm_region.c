#include "common/os/shm_region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SEGMENT_MODE  0600
#define BYTES_PER_MIB (1024.0 * 1024.0)

void shm_region_name(char name[SHM_NAME_BYTES], const char *instance, const char *part)
{
    snprintf(name, SHM_NAME_BYTES, "/ropeway-%.48s-%.16s", instance, part);
}

static enum status map_whole(struct shm_region *region, int fd, uint64_t size_bytes,
                             const char *name, struct fault *fault)
{
    void *base = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return fault_set(fault, STATUS_IO, NULL, "shared memory %s cannot be mapped: %s",
                         name, strerror(errno));
    region->base = base;
    region->size_bytes = size_bytes;
    return STATUS_OK;
}

/* What posix_fallocate could not have, told with the numbers that explain it. */
static enum status no_space(const char *name, uint64_t size_bytes, int fd, int error,
                            struct fault *fault)
{
    struct statvfs file_system;
    double free_mib = 0;
    if (fstatvfs(fd, &file_system) == 0)
        free_mib =
            (double)file_system.f_bavail * (double)file_system.f_frsize / BYTES_PER_MIB;
    return fault_set(
        fault, STATUS_NO_SPACE, NULL,
        "shared memory %s wants %.0f MiB but /dev/shm has %.0f MiB free (%s); "
        "ask for less with --kv-cache-memory or make /dev/shm larger",
        name, (double)size_bytes / BYTES_PER_MIB, free_mib, strerror(error));
}

enum status shm_region_create(struct shm_region *region, const char *name,
                              uint64_t size_bytes, struct fault *fault)
{
    int fd = shm_open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, SEGMENT_MODE);
    if (fd < 0)
        return fault_set(fault, errno == EEXIST ? STATUS_CONFLICT : STATUS_IO, NULL,
                         "shared memory %s cannot be made: %s", name, strerror(errno));
    enum status status;
    /* posix_fallocate on an empty file gives zeroed memory, all of it there. */
    int error = posix_fallocate(fd, 0, (off_t)size_bytes);
    if (error)
        status = no_space(name, size_bytes, fd, error, fault);
    else
        status = map_whole(region, fd, size_bytes, name, fault);
    close(fd);
    if (status)
        shm_unlink(name);
    return status;
}

static enum status check_owner(const char *name, const struct stat *found,
                               struct fault *fault)
{
    if (found->st_uid != geteuid())
        return fault_set(fault, STATUS_CONFLICT, NULL,
                         "shared memory %s belongs to user %u, not to us (%u); choose "
                         "another --instance",
                         name, (unsigned)found->st_uid, (unsigned)geteuid());
    if (found->st_mode & (S_IRWXG | S_IRWXO))
        return fault_set(fault, STATUS_CONFLICT, NULL,
                         "shared memory %s has mode %o, so others may open it; remove it",
                         name, (unsigned)(found->st_mode & 07777));
    return STATUS_OK;
}

enum status shm_region_open(struct shm_region *region, const char *name,
                            struct fault *fault)
{
    int fd = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (fd < 0)
        return fault_set(fault,
                         errno == ENOENT   ? STATUS_NOT_FOUND
                         : errno == EACCES ? STATUS_CONFLICT
                                           : STATUS_IO,
                         NULL, "shared memory %s cannot be opened: %s", name,
                         strerror(errno));
    struct stat found;
    enum status status;
    if (fstat(fd, &found) != 0)
        status = fault_set(fault, STATUS_IO, NULL, "shared memory %s: %s", name,
                           strerror(errno));
    else
        status = check_owner(name, &found, fault);
    if (!status && found.st_size == 0)
        status =
            fault_set(fault, STATUS_CORRUPT, NULL, "shared memory %s is empty", name);
    if (!status)
        status = map_whole(region, fd, (uint64_t)found.st_size, name, fault);
    close(fd);
    return status;
}

void shm_region_close(struct shm_region *region)
{
    if (region->base)
        munmap(region->base, region->size_bytes);
    *region = (struct shm_region){0};
}

void shm_region_unlink(const char *name)
{
    shm_unlink(name);
}
