#include "common/base/map.h"

#include "common/base/invariant.h"
#include <stdlib.h>

#define COUNT_BOUND (1u << 30)

bool map_init(struct map *map, uint32_t count_max)
{
    INVARIANT(count_max < COUNT_BOUND);
    uint32_t slots_count = 2;
    while (slots_count < 2 * count_max)
        slots_count *= 2;
    struct map_slot *slots = malloc(slots_count * sizeof *slots);
    *map = (struct map){slots, slots_count - 1, 0, count_max};
    if (!slots)
        return false;
    for (uint32_t i = 0; i < slots_count; i++)
        slots[i].value = MAP_NONE;
    return true;
}

void map_fini(struct map *map)
{
    free(map->slots);
    *map = (struct map){0};
}

/* Eight bytes a step; multiplying by odd numbers with mixed bits (those of splitmix64)
 * and folding the high half down reaches the low bits that choose the slot. */
static uint32_t hash_of(struct span key)
{
    uint64_t hash = 0x9E3779B97F4A7C15u ^ key.size;
    size_t at = 0;
    while (at < key.size) {
        uint64_t word = 0;
        size_t size = key.size - at < sizeof word ? key.size - at : sizeof word;
        memcpy(&word, key.data + at, size);
        hash = (hash ^ word) * 0xBF58476D1CE4E5B9u;
        hash ^= hash >> 31;
        at += size;
    }
    hash *= 0x94D049BB133111EBu;
    return (uint32_t)(hash >> 32);
}

/* The slot of the key, or the free one where it would stand. */
static struct map_slot *slot_of(const struct map *map, struct span key, uint32_t hash)
{
    uint32_t at = hash & map->mask;
    for (;; at = (at + 1) & map->mask) {
        struct map_slot *slot = &map->slots[at];
        if (slot->value == MAP_NONE || (slot->hash == hash && span_equal(slot->key, key)))
            return slot;
    }
}

uint32_t map_put(struct map *map, struct span key, uint32_t value)
{
    INVARIANT(value != MAP_NONE);
    uint32_t hash = hash_of(key);
    struct map_slot *slot = slot_of(map, key, hash);
    if (slot->value == MAP_NONE) {
        INVARIANT(map->count < map->count_max);
        map->count++;
        *slot = (struct map_slot){key, hash, value};
    }
    return slot->value;
}

uint32_t map_find(const struct map *map, struct span key)
{
    return slot_of(map, key, hash_of(key))->value;
}
