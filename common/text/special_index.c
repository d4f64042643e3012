#include "common/text/special_index.h"

#include <stdlib.h>

static int by_text_then_id(const void *a, const void *b)
{
    const struct special *left = a, *right = b;
    size_t common =
        left->text.size < right->text.size ? left->text.size : right->text.size;
    int order = memcmp(left->text.data, right->text.data, common);
    if (order == 0)
        order =
            (left->text.size > right->text.size) - (left->text.size < right->text.size);
    return order ? order : (left->id > right->id) - (left->id < right->id);
}

void special_index_init_take(struct special_index *index, struct special *entries,
                             uint32_t count)
{
    *index = (struct special_index){.entries = entries};
    if (count > 0)
        qsort(entries, count, sizeof *entries, by_text_then_id);
    uint32_t at = 0;
    for (uint32_t byte = 0; byte < 256; byte++) {
        index->first[byte] = at;
        while (at < count && (uint8_t)entries[at].text.data[0] == byte)
            at++;
    }
    index->first[256] = count;
}

void special_index_fini(struct special_index *index)
{
    free(index->entries);
    *index = (struct special_index){0};
}

/* The first entry of low..high whose byte at depth is wanted or more; all of them are
 * longer than depth and equal before it. */
static uint32_t lower_bound(const struct special *entries, uint32_t low, uint32_t high,
                            size_t depth, uint32_t wanted)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((uint8_t)entries[middle].text.data[depth] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct special *special_index_find(const struct special_index *index,
                                         struct span text, size_t control_size)
{
    const struct special *found = NULL;
    if (text.size == 0)
        return NULL;
    uint8_t byte = (uint8_t)text.data[0];
    uint32_t low = index->first[byte], high = index->first[byte + 1];
    for (size_t depth = 1; low < high; depth++) {
        /* Sorted: those that end here come first, with the lowest id before others. */
        for (bool taken = false; low < high && index->entries[low].text.size == depth;
             low++) {
            const struct special *entry = &index->entries[low];
            if (!taken && (!entry->control || depth <= control_size)) {
                found = entry;
                taken = true;
            }
        }
        if (depth == text.size)
            break;
        uint32_t next = (uint8_t)text.data[depth];
        low = lower_bound(index->entries, low, high, depth, next);
        high = lower_bound(index->entries, low, high, depth, next + 1);
    }
    return found;
}
