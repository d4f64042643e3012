#include "common/text/spm.h"

#include "common/text/utf8.h"
#include <stdlib.h>

#define SPM_SPACE SPAN_LITERAL("\xE2\x96\x81") /* U+2581 */

#define SIGN_BIT 0x80000000u

/* A number that is less for the better score: IEEE 754 bits sort as integers once
 * negative numbers are turned over. */
static uint32_t order_of(float score)
{
    uint32_t bits;
    score += 0.0f; /* -0 and +0 are equal scores */
    memcpy(&bits, &score, sizeof bits);
    return bits & SIGN_BIT ? bits : ~(bits | SIGN_BIT);
}

enum status spm_init(struct spm *spm, const struct vocabulary *vocabulary,
                     const float *scores, struct fault *fault)
{
    *spm = (struct spm){.vocabulary = vocabulary};
    spm->orders = calloc(vocabulary->count, sizeof *spm->orders);
    if (!spm->orders)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for %u scores",
                         vocabulary->count);
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        if (scores[id] != scores[id]) {
            spm_fini(spm);
            return fault_set(fault, STATUS_CORRUPT, NULL,
                             "the score of token %u is not a number", id);
        }
        spm->orders[id] = order_of(scores[id]);
    }
    return STATUS_OK;
}

void spm_fini(struct spm *spm)
{
    free(spm->orders);
    *spm = (struct spm){0};
}

static bool find_join(const void *rules, const char *text, const struct symbol *left,
                      const struct symbol *right, struct join *join)
{
    const struct spm *spm = rules;
    struct span both = {text + left->start, left->size + right->size};
    uint32_t id = map_find(&spm->vocabulary->plain, both);
    if (id == MAP_NONE)
        return false;
    *join = (struct join){spm->orders[id], id};
    return true;
}

static void escape(struct span text, bool prefixed, struct buffer *escaped)
{
    buffer_clear(escaped);
    if (prefixed)
        buffer_append_span(escaped, SPM_SPACE);
    for (size_t at = 0; at < text.size;) {
        const char *space = memchr(text.data + at, ' ', text.size - at);
        size_t end = space ? (size_t)(space - text.data) : text.size;
        buffer_append(escaped, text.data + at, end - at);
        if (space)
            buffer_append_span(escaped, SPM_SPACE);
        at = end + (space != NULL);
    }
}

bool spm_merge_text(const struct spm *spm, struct span text, bool prefixed,
                    struct buffer *escaped, struct merger *merger)
{
    escape(text, prefixed, escaped);
    if (escaped->failed)
        return false;
    merger_clear(merger);
    struct span left = buffer_span(escaped);
    uint32_t start = 0;
    while (left.size > 0) {
        uint8_t size = utf8_next(left).size;
        uint32_t id = map_find(&spm->vocabulary->plain, (struct span){left.data, size});
        if (!merger_add(merger, start, size, id == MAP_NONE ? TOKEN_NONE : id))
            return false;
        left.data += size;
        left.size -= size;
        start += size;
    }
    return merger_run(merger, escaped->data, find_join, spm);
}
