#include "common/os/process.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STAT_BYTES       1024
#define START_TIME_FIELD 22
#define FIRST_FIELD_AFTER_NAME                                                           \
    3 /* the name, field 2, is in brackets and may hold spaces */

static ssize_t read_whole(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    size_t size = fread(text, 1, bytes - 1, file);
    fclose(file);
    text[size] = '\0';
    return (ssize_t)size;
}

uint64_t process_start_ticks(pid_t pid)
{
    char path[64], text[STAT_BYTES];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_whole(path, text, sizeof text) <= 0)
        return 0;
    char *at = strrchr(text, ')');
    for (int field = FIRST_FIELD_AFTER_NAME - 1; at && field < START_TIME_FIELD; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

int process_open(pid_t pid, uint64_t start_ticks)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -1;
    /* The pid cannot change hands while the pidfd is open on a live process: reading the
     * start time after opening tells whether this is still the one that was meant. */
    if (start_ticks == 0 || process_start_ticks(pid) != start_ticks) {
        close(pidfd);
        return -1;
    }
    return pidfd;
}

bool process_ended(int pidfd)
{
    struct pollfd poller = {.fd = pidfd, .events = POLLIN};
    return poll(&poller, 1, 0) > 0;
}

enum status process_boot_id(char boot_id[40], struct fault *fault)
{
    static const char path[] = "/proc/sys/kernel/random/boot_id";
    if (read_whole(path, boot_id, 40) <= 0)
        return fault_set(fault, STATUS_IO, NULL,
                         "%s cannot be read: %s; is /proc mounted?", path,
                         strerror(errno));
    boot_id[strcspn(boot_id, "\n")] = '\0';
    return STATUS_OK;
}
