/* The pair of segments: made, reclaimed after a crash, locked, removed. */
#include "scheduler/kv_region.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each test has an instance and a runtime directory of its own. */
static struct config own_config(void)
{
    struct config config = {.port = 0};
    snprintf(config.instance, sizeof config.instance, "test-region-%ld", (long)getpid());
    snprintf(config.runtime_dir, sizeof config.runtime_dir, "/tmp/ropeway-region-%ld",
             (long)getpid());
    mkdir(config.runtime_dir, 0700);
    return config;
}

static struct geometry small_geometry(void)
{
    return (struct geometry){.block_bytes = 4096,
                             .block_size = 16,
                             .blocks_count = 8,
                             .layers_count = 1,
                             .kv_heads_count = 1,
                             .key_length = 64,
                             .kv_element_bytes = 2,
                             .vocabulary_count = 100,
                             .context_length = 128,
                             .records_count = 4,
                             .heap_pages_count = 8,
                             .steps_count = 2,
                             .step_rows_max = 16,
                             .step_sequences_max = 4,
                             .workers_max = 1,
                             .flight_events_count = 16};
}

static bool segment_exists(const struct config *config, const char *part)
{
    char name[SHM_NAME_BYTES];
    shm_region_name(name, config->instance, part);
    int file = shm_open(name, O_RDONLY, 0);
    if (file >= 0)
        close(file);
    return file >= 0;
}

static void remove_all(const struct config *config)
{
    char path[2 * CONFIG_TEXT_BYTES];
    instance_segments_unlink(config->instance);
    snprintf(path, sizeof path, "%s/scheduler.lock", config->runtime_dir);
    unlink(path);
    rmdir(config->runtime_dir);
}

/* A scheduler of its own process that makes the segments and dies at once. */
static void crash_after_open(const struct config *config)
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct geometry geometry = small_geometry();
        struct kv_region region;
        struct fault fault;
        _exit(kv_region_open(&region, config, &geometry, &fault) == STATUS_OK ? 0 : 1);
    }
    int ended;
    cr_assert_eq(waitpid(child, &ended, 0), child);
    cr_assert_eq(ended, 0);
}

Test(kv_region, is_made_stamped_and_of_the_asked_size)
{
    struct config config = own_config();
    struct geometry geometry = small_geometry();
    struct kv_region region;
    struct fault fault;
    cr_assert_eq(kv_region_open(&region, &config, &geometry, &fault), STATUS_OK, "%s",
                 fault.sentence);
    cr_assert_eq(region.control.header->generation, 1);
    cr_assert_eq(region.control.header->owner_pid, getpid());
    cr_assert_gt(region.control.header->owner_start_ticks, 0);
    cr_assert_eq(region.control.header->ready, 1);
    cr_assert_eq(region.blocks_region.size_bytes, 8 * 4096);
    kv_region_close(&region);
    cr_assert(segment_exists(&config, "control"));
    cr_assert(segment_exists(&config, "kv"));
    instance_segments_unlink(config.instance);
    cr_assert_not(segment_exists(&config, "control"));
    cr_assert_not(segment_exists(&config, "kv"));
    remove_all(&config);
}

Test(kv_region, a_dead_owners_pair_is_reclaimed_in_the_next_generation)
{
    struct config config = own_config();
    struct geometry geometry = small_geometry();
    struct kv_region region;
    struct fault fault;
    crash_after_open(&config);
    cr_assert(segment_exists(&config, "control"));
    geometry.blocks_count = 16;
    cr_assert_eq(kv_region_open(&region, &config, &geometry, &fault), STATUS_OK, "%s",
                 fault.sentence);
    cr_assert_eq(region.control.header->generation, 2);
    cr_assert_eq(region.control.header->geometry.blocks_count, 16);
    kv_region_close(&region);
    remove_all(&config);
}

Test(kv_region, a_second_scheduler_of_the_instance_is_refused)
{
    struct config config = own_config();
    struct geometry geometry = small_geometry();
    struct kv_region region, other;
    struct fault fault;
    cr_assert_eq(kv_region_open(&region, &config, &geometry, &fault), STATUS_OK);
    cr_assert_eq(kv_region_open(&other, &config, &geometry, &fault), STATUS_CONFLICT);
    cr_assert(segment_exists(&config, "control"));
    cr_assert_eq(region.control.header->generation, 1);
    kv_region_close(&region);
    remove_all(&config);
}

Test(kv_region, a_living_owner_in_another_runtime_directory_is_not_robbed)
{
    struct config config = own_config(), other = own_config();
    struct geometry geometry = small_geometry();
    struct kv_region region;
    struct fault fault;
    cr_assert_eq(kv_region_open(&region, &config, &geometry, &fault), STATUS_OK);
    snprintf(other.runtime_dir, sizeof other.runtime_dir, "%.100s-other",
             config.runtime_dir);
    mkdir(other.runtime_dir, 0700);
    pid_t child = fork();
    if (child == 0) {
        struct kv_region robbed;
        _exit((int)kv_region_open(&robbed, &other, &geometry, &fault));
    }
    int ended;
    cr_assert_eq(waitpid(child, &ended, 0), child);
    cr_assert_eq(WEXITSTATUS(ended), STATUS_CONFLICT);
    cr_assert(segment_exists(&config, "kv"));
    kv_region_close(&region);
    remove_all(&other);
    remove_all(&config);
}

Test(kv_region, an_unreadable_pair_is_made_new)
{
    struct config config = own_config();
    struct geometry geometry = small_geometry();
    struct kv_region region;
    struct shm_region garbage;
    struct fault fault;
    char name[SHM_NAME_BYTES];
    shm_region_name(name, config.instance, "control");
    cr_assert_eq(shm_region_create(&garbage, name, 100, &fault), STATUS_OK);
    memset(garbage.base, 0xA5, 100);
    shm_region_close(&garbage);
    cr_assert_eq(kv_region_open(&region, &config, &geometry, &fault), STATUS_OK, "%s",
                 fault.sentence);
    cr_assert_eq(region.control.header->generation, 1);
    kv_region_close(&region);
    remove_all(&config);
}
