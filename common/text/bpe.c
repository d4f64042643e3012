#include "common/text/bpe.h"

#include "common/text/byte_alphabet.h"
#include <stdlib.h>

/* Far past the longest token of any vocabulary that we know (162 bytes). */
#define MERGE_BYTES_MAX 4096

static struct span pair_key(const uint32_t pair[2])
{
    return (struct span){(const char *)pair, 2 * sizeof *pair};
}

enum resolved { RESOLVED, LEFT_OUT, UNRESOLVED };

static enum resolved find_plain(const struct vocabulary *vocabulary, struct span bytes,
                                uint32_t *id)
{
    *id = map_find(&vocabulary->plain, bytes);
    if (*id != MAP_NONE)
        return RESOLVED;
    const struct special *special =
        special_index_find(&vocabulary->specials, bytes, bytes.size);
    return special && special->text.size == bytes.size ? LEFT_OUT : UNRESOLVED;
}

static enum resolved resolve(const struct vocabulary *vocabulary, struct span text,
                             struct bpe_merge *merge)
{
    const char *space = text.size > 0 ? memchr(text.data, ' ', text.size) : NULL;
    if (!space || text.size > MERGE_BYTES_MAX)
        return UNRESOLVED;
    char bytes[MERGE_BYTES_MAX];
    struct span left = {text.data, (size_t)(space - text.data)};
    struct span right = {space + 1, text.size - left.size - 1};
    size_t left_size = byte_alphabet_decode(left, bytes);
    size_t right_size = byte_alphabet_decode(right, bytes + left_size);
    const struct span parts[] = {{bytes, left_size},
                                 {bytes + left_size, right_size},
                                 {bytes, left_size + right_size}};
    uint32_t *const ids[] = {&merge->pair[0], &merge->pair[1], &merge->id};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        enum resolved resolved = find_plain(vocabulary, parts[i], ids[i]);
        if (resolved != RESOLVED)
            return resolved;
    }
    return RESOLVED;
}

static enum status resolve_all(struct bpe *bpe, const struct vocabulary *vocabulary,
                               const struct span *merges, uint32_t merges_count,
                               struct fault *fault)
{
    for (uint32_t rank = 0; rank < merges_count; rank++) {
        struct bpe_merge *merge = &bpe->merges[rank];
        enum resolved resolved = resolve(vocabulary, merges[rank], merge);
        if (resolved == UNRESOLVED)
            return fault_set(fault, STATUS_CORRUPT, NULL,
                             "merge %u of the vocabulary (tokenizer.ggml.merges) is not "
                             "two tokens that make a third",
                             rank);
        if (resolved == RESOLVED)
            map_put(&bpe->ranks, pair_key(merge->pair), rank);
    }
    return STATUS_OK;
}

enum status bpe_init(struct bpe *bpe, const struct vocabulary *vocabulary,
                     const struct span *merges, uint32_t merges_count,
                     struct fault *fault)
{
    *bpe = (struct bpe){0};
    bpe->merges = calloc(merges_count > 0 ? merges_count : 1, sizeof *bpe->merges);
    enum status status;
    if (!bpe->merges || !map_init(&bpe->ranks, merges_count))
        status = fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for %u merges",
                           merges_count);
    else
        status = resolve_all(bpe, vocabulary, merges, merges_count, fault);
    if (status != STATUS_OK)
        bpe_fini(bpe);
    return status;
}

void bpe_fini(struct bpe *bpe)
{
    map_fini(&bpe->ranks);
    free(bpe->merges);
    *bpe = (struct bpe){0};
}

static bool find_join(const void *rules, const char *text, const struct symbol *left,
                      const struct symbol *right, struct join *join)
{
    (void)text; /* tokens say it all */
    const struct bpe *bpe = rules;
    if (left->id == TOKEN_NONE || right->id == TOKEN_NONE)
        return false;
    const uint32_t pair[2] = {left->id, right->id};
    uint32_t rank = map_find(&bpe->ranks, pair_key(pair));
    if (rank == MAP_NONE)
        return false;
    *join = (struct join){rank, bpe->merges[rank].id};
    return true;
}

bool bpe_merge_word(const struct bpe *bpe, const struct vocabulary *vocabulary,
                    struct span word, struct merger *merger)
{
    merger_clear(merger);
    for (uint32_t at = 0; at < word.size; at++)
        if (!merger_add(merger, at, 1, vocabulary->byte_ids[(uint8_t)word.data[at]]))
            return false;
    return merger_run(merger, word.data, find_join, bpe);
}
