/* map.h - finds a 32-bit number by a key of bytes; filled once, then read by anyone.
 *
 * Layer:   common/base (pure; allocates in init).
 * Method:  open addressing over a power of two of slots, at most half full.
 * Keys:    are borrowed and must outlive the map. The hash has no secret, so keys come
 *          from files that the operator chose; strangers' bytes are only looked up.
 */
#ifndef ROPEWAY_COMMON_BASE_MAP_H
#define ROPEWAY_COMMON_BASE_MAP_H

#include "common/base/span.h"
#include <stdint.h>

/* What map_find answers for a key that is not there; never a value. */
#define MAP_NONE UINT32_MAX

struct map_slot {
    struct span key;
    uint32_t hash;
    uint32_t value; /* MAP_NONE: the slot is free */
};

struct map {
    struct map_slot *slots;
    uint32_t mask;
    uint32_t count;
    uint32_t count_max;
};

/* Room for count_max keys, fewer than 2^30. False when memory is out. */
bool map_init(struct map *map, uint32_t count_max);
void map_fini(struct map *map);

/* Keeps the first value of a key; returns the value that the key has now. */
uint32_t map_put(struct map *map, struct span key, uint32_t value);
uint32_t map_find(const struct map *map, struct span key);

#endif
