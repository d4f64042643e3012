#include "tools/serve/preflight.h"

#include "common/os/shm_region.h"
#include "scheduler/geometry.h"
#include "worker/model/model.h"
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MIB        (UINT64_C(1) << 20)
#define SHM_FOLDER "/dev/shm"

/* Bytes that a stale segment of this instance holds; the start takes them over. */
static uint64_t stale_bytes(const char *instance)
{
    static const char *const parts[] = {LAYOUT_CONTROL_PART, LAYOUT_KV_PART};
    uint64_t bytes = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[SHM_NAME_BYTES], path[sizeof SHM_FOLDER + SHM_NAME_BYTES];
        struct stat found;
        shm_region_name(name, instance, parts[i]);
        snprintf(path, sizeof path, SHM_FOLDER "%s", name);
        if (stat(path, &found) == 0)
            bytes += (uint64_t)found.st_blocks * 512; /* POSIX's unit of st_blocks */
    }
    return bytes;
}

/* MemAvailable of /proc/meminfo, or UINT64_MAX where it cannot be read. */
static uint64_t available_bytes(void)
{
    char line[128];
    uint64_t available_kib, bytes = UINT64_MAX;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL)
        return bytes;
    while (fgets(line, sizeof line, file) != NULL)
        // NOLINTNEXTLINE(cert-err34-c): the kernel writes it
        if (sscanf(line, "MemAvailable: %" SCNu64, &available_kib) == 1)
            bytes = available_kib * 1024;
    fclose(file);
    return bytes;
}

static enum status refuse(uint64_t needed_bytes, uint64_t free_bytes, const char *place,
                          struct fault *fault)
{
    return fault_set(fault, STATUS_INVALID, "kv-cache-memory",
                     "shared memory needs %" PRIu64 " MiB, but %s has %" PRIu64
                     " MiB left: give a smaller --kv-cache-memory or --num-blocks",
                     needed_bytes / MIB + 1, place, free_bytes / MIB);
}

static enum status check_memory(const struct config *config,
                                const struct geometry *geometry, struct fault *fault)
{
    struct statvfs shm;
    uint64_t control_bytes;
    enum status status = layout_control_bytes(geometry, &control_bytes, fault);
    if (status != STATUS_OK)
        return status;
    uint64_t needed_bytes = control_bytes + layout_kv_bytes(geometry);
    uint64_t reclaimed_bytes = stale_bytes(config->instance);
    if (statvfs(SHM_FOLDER, &shm) == 0) {
        uint64_t free_bytes = (uint64_t)shm.f_bavail * shm.f_frsize + reclaimed_bytes;
        if (needed_bytes > free_bytes)
            return refuse(needed_bytes, free_bytes, SHM_FOLDER, fault);
    }
    uint64_t memory_bytes = available_bytes();
    if (memory_bytes != UINT64_MAX && needed_bytes > memory_bytes + reclaimed_bytes)
        return refuse(needed_bytes, memory_bytes, "this machine", fault);
    return STATUS_OK;
}

enum status preflight(const struct config *config, struct fault *fault)
{
    struct model model;
    struct geometry geometry;
    enum status status = model_open(&model, config->model, fault);
    if (status != STATUS_OK)
        return status;
    status = geometry_plan(config, &model.shape, &geometry, fault);
    model_close(&model);
    if (status != STATUS_OK)
        return status;
    return check_memory(config, &geometry, fault);
}
