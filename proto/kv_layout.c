#include "proto/kv_layout.h"

#include "common/base/invariant.h"
#include "proto/step.h"
#include <string.h>

/* Where every section begins. */
struct sections {
    uint64_t workers, records, blocks, block_tokens, steps, flight, heap;
    uint64_t size_bytes;
    bool overflowed;
};

/* A section of count elements behind all that sections holds so far; its offset. */
static uint64_t add_section(struct sections *sections, uint64_t count,
                            uint64_t element_bytes)
{
    uint64_t offset = sections->size_bytes, bytes, end;
    if (__builtin_mul_overflow(count, element_bytes, &bytes) ||
        __builtin_add_overflow(bytes, LAYOUT_PAGE_BYTES - 1, &bytes) ||
        __builtin_add_overflow(offset, bytes / LAYOUT_PAGE_BYTES * LAYOUT_PAGE_BYTES,
                               &end)) {
        sections->overflowed = true;
        return offset;
    }
    sections->size_bytes = end;
    return offset;
}

static struct sections lay_out(const struct geometry *geometry)
{
    struct sections sections = {0};
    add_section(&sections, 1, sizeof(struct control_header));
    sections.workers =
        add_section(&sections, geometry->workers_max, sizeof(struct worker_slot));
    sections.records =
        add_section(&sections, geometry->records_count, sizeof(struct request_record));
    sections.blocks =
        add_section(&sections, geometry->blocks_count, sizeof(struct block_record));
    sections.block_tokens =
        add_section(&sections, (uint64_t)geometry->blocks_count * geometry->block_size,
                    sizeof(uint32_t));
    sections.steps = add_section(&sections, geometry->steps_count, step_bytes(geometry));
    sections.flight = add_section(&sections, geometry->flight_events_count,
                                  sizeof(struct flight_event));
    sections.heap = add_section(&sections, geometry->heap_pages_count, LAYOUT_PAGE_BYTES);
    return sections;
}

/* The name of a count that must not be 0 and is, or NULL. */
static const char *missing_count(const struct geometry *geometry)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"block_bytes", geometry->block_bytes},
                  {"block_size", geometry->block_size},
                  {"blocks_count", geometry->blocks_count},
                  {"layers_count", geometry->layers_count},
                  {"kv_heads_count", geometry->kv_heads_count},
                  {"key_length", geometry->key_length},
                  {"kv_element_bytes", geometry->kv_element_bytes},
                  {"vocabulary_count", geometry->vocabulary_count},
                  {"context_length", geometry->context_length},
                  {"records_count", geometry->records_count},
                  {"heap_pages_count", geometry->heap_pages_count},
                  {"steps_count", geometry->steps_count},
                  {"step_rows_max", geometry->step_rows_max},
                  {"step_sequences_max", geometry->step_sequences_max},
                  {"workers_max", geometry->workers_max},
                  {"flight_events_count", geometry->flight_events_count}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        if (counts[i].value == 0)
            return counts[i].name;
    return NULL;
}

enum status layout_control_bytes(const struct geometry *geometry, uint64_t *size_bytes,
                                 struct fault *fault)
{
    const char *missing = missing_count(geometry);
    if (missing != NULL)
        return fault_set(fault, STATUS_INVALID, missing,
                         "shared memory's geometry has 0 for %s", missing);
    if ((geometry->flight_events_count & (geometry->flight_events_count - 1)) != 0)
        return fault_set(fault, STATUS_INVALID, "flight_events_count",
                         "flight_events_count %u is no power of two",
                         geometry->flight_events_count);
    struct sections sections = lay_out(geometry);
    uint64_t kv_bytes;
    if (sections.overflowed ||
        __builtin_mul_overflow(geometry->block_bytes, (uint64_t)geometry->blocks_count,
                               &kv_bytes))
        return fault_set(fault, STATUS_INVALID, "",
                         "shared memory of %u KV blocks and %u records exceeds what can "
                         "be addressed",
                         geometry->blocks_count, geometry->records_count);
    *size_bytes = sections.size_bytes;
    return STATUS_OK;
}

uint64_t layout_kv_bytes(const struct geometry *geometry)
{
    return geometry->block_bytes * geometry->blocks_count;
}

void layout_format(void *base, const struct geometry *geometry)
{
    struct control_header *header = base;
    struct sections sections = lay_out(geometry);
    INVARIANT(!sections.overflowed);
    header->magic = LAYOUT_MAGIC;
    header->layout_version = LAYOUT_VERSION;
    header->size_bytes = sections.size_bytes;
    header->geometry = *geometry;
    header->workers_offset = sections.workers;
    header->records_offset = sections.records;
    header->blocks_offset = sections.blocks;
    header->block_tokens_offset = sections.block_tokens;
    header->steps_offset = sections.steps;
    header->step_bytes = step_bytes(geometry);
    header->flight_offset = sections.flight;
    header->heap_offset = sections.heap;
}

void layout_publish(struct control_header *header)
{
    atomic_store_explicit(&header->ready, 1, memory_order_release);
}

/* What is wrong with a header whose geometry is sound, or NULL. */
static const char *offsets_fault(const struct control_header *header)
{
    struct sections sections = lay_out(&header->geometry);
    if (header->size_bytes != sections.size_bytes)
        return "its size is not what its geometry takes";
    if (header->workers_offset != sections.workers ||
        header->records_offset != sections.records ||
        header->blocks_offset != sections.blocks ||
        header->block_tokens_offset != sections.block_tokens ||
        header->steps_offset != sections.steps ||
        header->flight_offset != sections.flight ||
        header->heap_offset != sections.heap ||
        header->step_bytes != step_bytes(&header->geometry))
        return "its sections do not lie where its geometry puts them";
    return NULL;
}

static enum status check_header(const struct control_header *header, uint64_t size_bytes,
                                struct fault *fault)
{
    if (size_bytes < sizeof *header)
        return fault_set(fault, STATUS_CORRUPT, "",
                         "the control segment has %llu bytes, too few for its header",
                         (unsigned long long)size_bytes);
    if (atomic_load_explicit(&header->ready, memory_order_acquire) != 1)
        return fault_set(fault, STATUS_UNAVAILABLE, "",
                         "the control segment is not ready yet");
    if (header->magic != LAYOUT_MAGIC)
        return fault_set(fault, STATUS_CORRUPT, "",
                         "the control segment does not begin as one of ropeway's");
    if (header->layout_version != LAYOUT_VERSION)
        return fault_set(fault, STATUS_CORRUPT, "",
                         "the control segment has layout version %u, this program %u",
                         header->layout_version, LAYOUT_VERSION);
    uint64_t wanted_bytes;
    enum status status = layout_control_bytes(&header->geometry, &wanted_bytes, fault);
    if (status != STATUS_OK)
        return fault->status = STATUS_CORRUPT;
    const char *what = offsets_fault(header);
    if (what == NULL && header->size_bytes != size_bytes)
        what = "it was mapped in another size than its header says";
    if (what != NULL)
        return fault_set(fault, STATUS_CORRUPT, "", "the control segment is corrupt: %s",
                         what);
    return STATUS_OK;
}

enum status layout_view(void *base, uint64_t size_bytes, struct control *control,
                        struct fault *fault)
{
    struct control_header *header = base;
    enum status status = check_header(header, size_bytes, fault);
    if (status != STATUS_OK)
        return status;
    unsigned char *bytes = base;
    *control = (struct control){
        .header = header,
        .workers = (struct worker_slot *)(bytes + header->workers_offset),
        .records = (struct request_record *)(bytes + header->records_offset),
        .blocks = (struct block_record *)(bytes + header->blocks_offset),
        .block_tokens = (uint32_t *)(bytes + header->block_tokens_offset),
        .steps = bytes + header->steps_offset,
        .flight = (struct flight_event *)(bytes + header->flight_offset),
        .heap = bytes + header->heap_offset};
    return STATUS_OK;
}

static uint64_t logprobs_bytes(const struct request_record *record)
{
    uint64_t generated_max = record->tokens_capacity - record->prompt_tokens_count;
    return generated_max * record->logprobs_per_token * sizeof(struct logprob);
}

static uint64_t chain_bytes(const struct request_record *record)
{
    return (1 + (uint64_t)record->blocks_capacity) * sizeof(struct block_digest);
}

/* All parts but the two of bytes are of 4-byte words, so none needs padding. */
uint32_t extent_pages(const struct request_record *record)
{
    uint64_t bytes = ((uint64_t)record->tokens_capacity + record->blocks_capacity +
                      record->stop_tokens_count) *
                         sizeof(uint32_t) +
                     chain_bytes(record) + logprobs_bytes(record) +
                     (uint64_t)record->logit_bias_count * sizeof(struct logit_bias) +
                     record->grammar_bytes + record->client_blob_bytes;
    uint64_t pages = (bytes + LAYOUT_PAGE_BYTES - 1) / LAYOUT_PAGE_BYTES;
    return pages < UINT32_MAX ? (uint32_t)pages : UINT32_MAX;
}

struct extent extent_view(const struct control *control,
                          const struct request_record *record)
{
    uint32_t pages_count = control->header->geometry.heap_pages_count;
    INVARIANT(record->extent_page < pages_count &&
              record->extent_pages_count <= pages_count - record->extent_page);
    INVARIANT(extent_pages(record) <= record->extent_pages_count);
    unsigned char *at = control->heap + (uint64_t)record->extent_page * LAYOUT_PAGE_BYTES;
    struct extent extent;
    extent.tokens = (uint32_t *)at;
    extent.block_table = extent.tokens + record->tokens_capacity;
    extent.chain = (struct block_digest *)(extent.block_table + record->blocks_capacity);
    extent.logprobs =
        (struct logprob *)((unsigned char *)extent.chain + chain_bytes(record));
    at = (unsigned char *)extent.logprobs + logprobs_bytes(record);
    extent.logit_bias = (struct logit_bias *)at;
    extent.stop_tokens = (uint32_t *)(extent.logit_bias + record->logit_bias_count);
    extent.grammar = (char *)(extent.stop_tokens + record->stop_tokens_count);
    extent.client_blob = extent.grammar + record->grammar_bytes;
    return extent;
}
