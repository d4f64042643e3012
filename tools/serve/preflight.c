#include "tools/serve/preflight.h"

#include "common/os/log.h"
#include "common/os/shm_region.h"
#include "scheduler/geometry.h"
#include "worker/model/model.h"
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

/* The frontend would say the same, amid what the others say of their own start. */
static enum status check_port(const struct config *config, struct fault *fault)
{
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found;
    enum status status = STATUS_OK;
    const int on = 1;
    snprintf(service, sizeof service, "%u", config->port);
    int error = getaddrinfo(config->host, service, &hints, &found);
    if (error != 0)
        return fault_set(fault, STATUS_INVALID, "host",
                         "--host '%.200s' is not known: %s", config->host,
                         gai_strerror(error));
    int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file >= 0) {
        /* As libuv does: a former server's connections that linger are no hindrance. */
        setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(file, found->ai_addr, found->ai_addrlen) != 0)
            status =
                fault_set(fault, STATUS_IO, "port",
                          "cannot listen on %.200s port %u: %s; choose another --host "
                          "or --port",
                          config->host, config->port, strerror(errno));
        close(file);
    }
    freeaddrinfo(found);
    return status;
}

/* Not wrong, but it refuses what the model could do. */
static void warn_of_small_pool(const struct config *config,
                               const struct geometry *geometry,
                               const struct model_shape *shape)
{
    if (config->max_model_len == 0 && geometry->context_length < shape->context_length)
        log_warn(
            "the KV cache holds %u tokens of the model's %u: for longer requests give "
            "a larger --kv-cache-memory or --num-blocks",
            geometry->context_length, shape->context_length);
}

enum status preflight(const struct config *config, struct fault *fault)
{
    struct model model;
    struct geometry geometry;
    enum status status = model_open(&model, config->model, fault);
    if (status != STATUS_OK)
        return status;
    status = geometry_plan(config, &model.shape, &geometry, fault);
    if (status == STATUS_OK)
        status = check_memory(config, &geometry, fault);
    if (status == STATUS_OK)
        status = check_port(config, fault);
    if (status == STATUS_OK)
        warn_of_small_pool(config, &geometry, &model.shape);
    model_close(&model);
    return status;
}
