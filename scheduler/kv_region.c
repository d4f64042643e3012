#include "scheduler/kv_region.h"

#include "common/base/time_units.h"
#include "common/os/clock.h"
#include "common/os/log.h"
#include "common/os/process.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* A worker lets go of a dead scheduler's segments within a look and a step; until then
 * their memory is in use though their names are gone. */
#define RECLAIM_WAIT_NS  (10 * NS_PER_S)
#define RECLAIM_PAUSE_NS (50 * NS_PER_MS)

static enum status take_lock(const struct config *config, int *lock, struct fault *fault)
{
    char path[CONFIG_PATH_BYTES];
    config_path(config, "scheduler.lock", path);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return fault_set(fault, STATUS_IO, "", "cannot open the lock file %s: %s", path,
                         strerror(errno));
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        close(file);
        return fault_set(
            fault, STATUS_CONFLICT, "instance",
            "another scheduler of instance '%s' runs (%s is locked): stop it "
            "or give another --instance",
            config->instance, path);
    }
    char text[32];
    int size = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(file, 0) != 0 || write(file, text, (size_t)size) != size)
        log_warn("cannot write the pid into the lock file path=%s", path);
    *lock = file;
    return STATUS_OK;
}

/* Whether the process that made the segments lives, perhaps in another runtime directory,
 * where our lock says nothing. A pid of another boot is nobody's. */
static bool owner_lives(const struct control_header *header)
{
    struct fault fault;
    char boot_id[sizeof header->boot_id];
    if (process_boot_id(boot_id, &fault) != STATUS_OK ||
        strncmp(boot_id, header->boot_id, sizeof boot_id) != 0)
        return false;
    if (header->owner_pid == getpid())
        return false;
    int process = process_open(header->owner_pid, header->owner_start_ticks);
    if (process < 0)
        return false;
    bool lives = !process_ended(process);
    close(process);
    return lives;
}

/* Looks at a pair left behind: *generation is its own, 0 where it cannot be read. */
static enum status inspect_stale(const char *instance, uint32_t *generation,
                                 struct fault *fault)
{
    char name[SHM_NAME_BYTES];
    struct shm_region region;
    *generation = 0;
    shm_region_name(name, instance, LAYOUT_CONTROL_PART);
    enum status status = shm_region_open(&region, name, fault);
    if (status == STATUS_CONFLICT)
        return status;
    if (status != STATUS_OK)
        return STATUS_OK;
    const struct control_header *header = region.base;
    bool is_ours = region.size_bytes >= sizeof *header && header->magic == LAYOUT_MAGIC;
    if (is_ours && owner_lives(header))
        status = fault_set(fault, STATUS_CONFLICT, "instance",
                           "the scheduler with pid %d serves instance '%s' from another "
                           "runtime directory: stop it or give another --instance",
                           header->owner_pid, instance);
    else if (is_ours)
        *generation = header->generation;
    shm_region_close(&region);
    return status;
}

void instance_segments_unlink(const char *instance)
{
    char name[SHM_NAME_BYTES];
    shm_region_name(name, instance, LAYOUT_CONTROL_PART);
    shm_region_unlink(name);
    shm_region_name(name, instance, LAYOUT_KV_PART);
    shm_region_unlink(name);
}

bool instance_segments_reclaim(const char *instance)
{
    struct fault fault;
    uint32_t generation;
    if (inspect_stale(instance, &generation, &fault) != STATUS_OK)
        return false;
    instance_segments_unlink(instance);
    return true;
}

static enum status stamp(struct control_header *header, uint32_t generation,
                         struct fault *fault)
{
    enum status status = process_boot_id(header->boot_id, fault);
    if (status != STATUS_OK)
        return status;
    header->owner_pid = getpid();
    header->owner_start_ticks = process_start_ticks(getpid());
    header->generation = generation;
    layout_publish(header);
    return STATUS_OK;
}

/* Makes and maps both segments. On failure neither name is left. */
static enum status make_segments(struct kv_region *region, const char *instance,
                                 const struct geometry *geometry, uint32_t generation,
                                 struct fault *fault)
{
    char name[SHM_NAME_BYTES];
    uint64_t size_bytes;
    enum status status = layout_control_bytes(geometry, &size_bytes, fault);
    if (status != STATUS_OK)
        return status;
    shm_region_name(name, instance, LAYOUT_KV_PART);
    status =
        shm_region_create(&region->blocks_region, name, layout_kv_bytes(geometry), fault);
    if (status != STATUS_OK)
        return status;
    shm_region_name(name, instance, LAYOUT_CONTROL_PART);
    status = shm_region_create(&region->control_region, name, size_bytes, fault);
    if (status != STATUS_OK)
        goto drop_blocks;
    layout_format(region->control_region.base, geometry);
    status = stamp(region->control_region.base, generation, fault);
    if (status == STATUS_OK)
        status =
            layout_view(region->control_region.base, size_bytes, &region->control, fault);
    if (status == STATUS_OK)
        return STATUS_OK;
    shm_region_close(&region->control_region);
drop_blocks:
    shm_region_close(&region->blocks_region);
    instance_segments_unlink(instance);
    return status;
}

/* As make_segments; waits for the memory of a reclaimed pair where it does not fit. */
static enum status replace_segments(struct kv_region *region, const char *instance,
                                    const struct geometry *geometry,
                                    uint32_t stale_generation, struct fault *fault)
{
    static const struct timespec pause = {.tv_nsec = RECLAIM_PAUSE_NS};
    uint64_t until_ns = clock_monotonic_ns() + RECLAIM_WAIT_NS;
    for (;;) {
        enum status status =
            make_segments(region, instance, geometry, stale_generation + 1, fault);
        if (status != STATUS_NO_SPACE || stale_generation == 0 ||
            clock_monotonic_ns() >= until_ns)
            return status;
        nanosleep(&pause, NULL);
    }
}

enum status kv_region_open(struct kv_region *region, const struct config *config,
                           const struct geometry *geometry, struct fault *fault)
{
    uint32_t stale_generation;
    enum status status = take_lock(config, &region->lock, fault);
    if (status != STATUS_OK)
        return status;
    status = inspect_stale(config->instance, &stale_generation, fault);
    if (status != STATUS_OK)
        goto unlock;
    if (stale_generation != 0)
        log_warn("reclaiming the segments of a scheduler that is gone generation=%u",
                 stale_generation);
    instance_segments_unlink(config->instance);
    status =
        replace_segments(region, config->instance, geometry, stale_generation, fault);
    if (status == STATUS_OK)
        return STATUS_OK;
unlock:
    close(region->lock);
    return status;
}

void kv_region_close(struct kv_region *region)
{
    shm_region_close(&region->control_region);
    shm_region_close(&region->blocks_region);
    close(region->lock);
}
