/* shm_region.h - a POSIX shared memory segment, reserved in full, mode 0600.
 *
 * Owner: the opener unmaps with shm_region_close; the name goes with shm_region_unlink.
 */
#ifndef ROPEWAY_COMMON_OS_SHM_REGION_H
#define ROPEWAY_COMMON_OS_SHM_REGION_H

#include "common/base/status.h"
#include <stddef.h>
#include <stdint.h>

struct shm_region {
    void *base;
    uint64_t size_bytes;
};

/* "/ropeway-<instance>-<part>" into name. */
#define SHM_NAME_BYTES 96
void shm_region_name(char name[SHM_NAME_BYTES], const char *instance, const char *part);

/* Makes the segment new and zeroed: refuses one that exists (STATUS_CONFLICT). Space is
 * reserved by posix_fallocate: STATUS_NO_SPACE names what is wanted and what is free. */
enum status shm_region_create(struct shm_region *region, const char *name,
                              uint64_t size_bytes, struct fault *fault);

/* Maps an existing segment whole. STATUS_NOT_FOUND when there is none; STATUS_CONFLICT
 * when another user owns it or others may open it. */
enum status shm_region_open(struct shm_region *region, const char *name,
                            struct fault *fault);
void shm_region_close(struct shm_region *region);

/* Nothing when there is none. */
void shm_region_unlink(const char *name);

#endif
