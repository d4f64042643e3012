#include "common/os/process.h"
#include "common/os/shm_region.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void unique_name(char name[SHM_NAME_BYTES], const char *part)
{
    char instance[32];
    snprintf(instance, sizeof instance, "test-%d", (int)getpid());
    shm_region_name(name, instance, part);
}

Test(shm_region, is_zeroed_private_and_seen_by_a_second_mapping)
{
    char name[SHM_NAME_BYTES], path[SHM_NAME_BYTES + 16];
    struct shm_region made, opened;
    struct fault fault;
    struct stat found;
    unique_name(name, "a");
    cr_assert_eq(shm_region_create(&made, name, 8192, &fault), STATUS_OK);
    snprintf(path, sizeof path, "/dev/shm%s", name);
    cr_assert_eq(stat(path, &found), 0);
    cr_assert_eq(found.st_mode & 0777, 0600);
    cr_assert_eq(((char *)made.base)[8191], 0);
    cr_assert_eq(shm_region_create(&opened, name, 8192, &fault), STATUS_CONFLICT);
    cr_assert_eq(shm_region_open(&opened, name, &fault), STATUS_OK);
    cr_assert_eq(opened.size_bytes, 8192);
    ((char *)made.base)[5] = 'x';
    cr_assert_eq(((char *)opened.base)[5], 'x');
    shm_region_close(&opened);
    shm_region_close(&made);
    shm_region_unlink(name);
    cr_assert_eq(shm_region_open(&opened, name, &fault), STATUS_NOT_FOUND);
}

Test(shm_region, too_little_space_is_a_sentence_and_leaves_no_name)
{
    char name[SHM_NAME_BYTES];
    struct shm_region region;
    struct fault fault;
    unique_name(name, "b");
    cr_assert_eq(shm_region_create(&region, name, 1ull << 50, &fault), STATUS_NO_SPACE);
    cr_assert_not_null(strstr(fault.sentence, "1073741824 MiB"), "%s", fault.sentence);
    cr_assert_eq(shm_region_open(&region, name, &fault), STATUS_NOT_FOUND);
}

Test(shm_region, one_that_others_may_open_is_refused)
{
    char name[SHM_NAME_BYTES], path[SHM_NAME_BYTES + 16];
    struct shm_region region;
    struct fault fault;
    unique_name(name, "c");
    cr_assert_eq(shm_region_create(&region, name, 4096, &fault), STATUS_OK);
    shm_region_close(&region);
    snprintf(path, sizeof path, "/dev/shm%s", name);
    chmod(path, 0644);
    cr_assert_eq(shm_region_open(&region, name, &fault), STATUS_CONFLICT);
    shm_region_unlink(name);
}

Test(process, is_told_from_another_of_the_same_pid)
{
    uint64_t start_ticks = process_start_ticks(getpid());
    cr_assert_gt(start_ticks, 0);
    int pidfd = process_open(getpid(), start_ticks);
    cr_assert_geq(pidfd, 0);
    cr_assert_not(process_ended(pidfd));
    close(pidfd);
    cr_assert_eq(process_open(getpid(), start_ticks + 1), -1);
}

Test(process, its_end_is_seen_by_the_pidfd)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    int pidfd = process_open(child, process_start_ticks(child));
    cr_assert_not(process_ended(pidfd));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cr_assert(process_ended(pidfd));
    close(pidfd);
    cr_assert_eq(process_start_ticks(child), 0);
}

Test(process, the_boot_id_has_36_characters)
{
    char boot_id[40];
    struct fault fault;
    cr_assert_eq(process_boot_id(boot_id, &fault), STATUS_OK);
    cr_assert_eq(strlen(boot_id), 36);
}
