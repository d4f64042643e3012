/* kv_layout.h - the shared memory of an instance: who finds what where, and who may write
 * it.
 *
 * Layer:   proto (pure: arithmetic on memory that the caller mapped).
 *
 *   control segment  /ropeway-<instance>-control, mode 0600
 *   +--------------------+ 0
 *   | control_header     | magic, version, geometry, offsets, owner, bells
 *   +--------------------+ workers_offset
 *   | worker_slot [ ]    | one per worker: identity and doorbell
 *   +--------------------+ records_offset
 *   | request_record [ ] | all that a successor needs to go on with a request
 *   +--------------------+ blocks_offset
 *   | block_record [ ]   | per KV block: prefix-cache digest, parent, fill
 *   | block tokens [ ][ ]| blocks_count x block_size token ids
 *   +--------------------+ steps_offset
 *   | step [ ]           | iteration batches and their results (proto/step.h)
 *   +--------------------+ flight_offset
 *   | flight_event [ ]   | ring of scheduling decisions
 *   +--------------------+ heap_offset
 *   | heap pages [ ]     | the records' variable parts, in extents of whole pages
 *   +--------------------+ size_bytes
 *
 *   KV segment       /ropeway-<instance>-kv, mode 0600: blocks_count blocks of
 *   [layer][K, V][token in block][kv head][element]
 *
 * Access rules
 *  1. Every field has one writer. The scheduler writes everything but: a step's results
 *     and done word, and the KV rows that a posted step names - these are its worker's -
 *     and the bells, to which any process may add.
 *  2. Nothing becomes visible before what it rests on. The word that publishes (ready,
 *     state, posted, done, committed) is stored with release order, after all that it
 *     speaks of, and loaded with acquire order before any of it is read.
 *  3. Indexes, never pointers. An index read from the segment by an adopting process is
 *     checked against its count before use.
 *  4. A worker reads a record's tokens, block table and parameters only between the
 *     step's posted and its done word; the scheduler changes none of these for a sequence
 *     in flight, and gives none of its blocks to anybody who would write into them: full
 *     ones, whose rows are committed, may be others' too.
 *  5. Commit: worker: KV rows, then results, then done. Scheduler, for each sequence:
 *     tokens and counts, only if the record is the same use and stands at the step's
 *     position; then committed; only then the blocks that it filled may be found, and
 *     freed ones be given out; then events.
 *  6. Records and block tables are the authority. Free lists, reference counts, the
 *     prefix index and queues are derived, live in the scheduler's own memory, and are
 *     rebuilt from the authority.
 */
#ifndef ROPEWAY_PROTO_KV_LAYOUT_H
#define ROPEWAY_PROTO_KV_LAYOUT_H

#include "common/base/status.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_MAGIC          0x3159415745504F52ull /* "ROPEWAY1" read as little-endian */
#define LAYOUT_VERSION        2u
#define LAYOUT_CONTROL_PART   "control" /* of the segments' names, see shm_region_name */
#define LAYOUT_KV_PART        "kv"
#define LAYOUT_PAGE_BYTES     4096u /* heap page, and alignment of every section */
#define REQUEST_ID_BYTES      64    /* with the NUL */
#define OWNER_KEY_BYTES       32    /* SHA-256 of the API key; zeros without one */
#define TOP_LOGPROBS_MAX      20    /* OpenAI's bound */
#define LOGIT_BIAS_MAX        300   /* entries; OpenAI's bound */
#define STOP_TOKENS_MAX       64    /* a request's own and the vocabulary's end tokens */
#define CLIENT_BLOB_BYTES_MAX 65536 /* far above what a frontend keeps in it */
#define GRAMMAR_BYTES_MAX     65536 /* a JSON schema that people write by hand */
#define FAILURE_BYTES         160   /* one sentence, with the NUL */
#define CACHE_SALT_BYTES_MAX  256   /* far above a key or a name */
#define BLOCK_DIGEST_BYTES    32    /* SHA-256 */
#define BLOCK_NONE            UINT32_MAX
#define RECORD_NONE           UINT32_MAX

/* Two segments can be one another's successors only if these are equal. */
struct geometry {
    uint8_t model_identity[32];
    uint64_t block_bytes; /* model_shape_block_bytes */
    uint32_t block_size;  /* tokens a block */
    uint32_t blocks_count;
    uint32_t layers_count;
    uint32_t kv_heads_count;
    uint32_t key_length;
    uint32_t kv_element_bytes; /* 2: fp16, 4: fp32 */
    uint32_t vocabulary_count;
    uint32_t context_length; /* most tokens of one sequence (--max-model-len) */
    uint32_t records_count;  /* running + waiting + kept after the end */
    uint32_t heap_pages_count;
    uint32_t steps_count;
    uint32_t step_rows_max;      /* --max-num-batched-tokens */
    uint32_t step_sequences_max; /* --max-num-seqs */
    uint32_t workers_max;
    uint32_t flight_events_count; /* a power of two */
};

struct control_header {
    uint64_t magic;
    uint32_t layout_version;
    _Atomic uint32_t ready; /* 1 when all below is written; the last store of a format */
    uint64_t size_bytes;
    struct geometry geometry;
    uint64_t workers_offset, records_offset, blocks_offset, block_tokens_offset;
    uint64_t steps_offset, step_bytes, flight_offset, heap_offset;
    char boot_id[40];           /* /proc/sys/kernel/random/boot_id */
    int32_t owner_pid;          /* scheduler */
    uint64_t owner_start_ticks; /* field 22 of /proc/<pid>/stat: a pid's second half */
    uint32_t generation;        /* grows with every owner; in every result */
    _Atomic uint32_t scheduler_bell; /* futex: anyone adds 1 and wakes the scheduler */
    _Atomic uint64_t heartbeat_ns;   /* monotonic; the scheduler's last loop turn */
    _Atomic uint64_t flight_cursor;  /* events ever written */
};

struct worker_slot {
    _Atomic uint32_t attached; /* 1 while pid and start_ticks name a worker */
    int32_t pid;
    uint64_t start_ticks;
    _Atomic uint32_t bell; /* futex: the scheduler adds 1 for each step posted */
    uint32_t threads_count;
    char kernels[64];    /* what computes there, for people */
    uint64_t padding[8]; /* a bell shares its cache line with no other slot's */
};

enum request_state {
    REQUEST_FREE, /* the slot holds nothing */
    REQUEST_WAITING,
    REQUEST_PREFILL,
    REQUEST_DECODE,
    REQUEST_DONE, /* terminal; kept for a bounded time, then free */
    REQUEST_STATES
};

/* How a request ended; the course's terminal states are these but stop and length, which
 * are both its "completed". */
enum finish_reason {
    FINISH_NONE,
    FINISH_STOP,   /* an end-of-generation or stop token, which is the last token */
    FINISH_LENGTH, /* max_tokens or the context's end */
    FINISH_CANCELLED,
    FINISH_TIMED_OUT,
    FINISH_FAILED,
    FINISH_REASONS
};

/* The gate that refused a waiting request last. */
enum block_reason {
    BLOCKED_NOT,
    BLOCKED_SLOT,
    BLOCKED_KV_BLOCKS,
    BLOCKED_TOKEN_BUDGET,
    BLOCK_REASONS
};

struct sampling {
    float temperature;        /* 0: greedy */
    float top_p;              /* 1: off */
    float min_p;              /* 0: off */
    float repetition_penalty; /* 1: off; prompt and output */
    float presence_penalty;   /* 0: off; output */
    float frequency_penalty;  /* 0: off; output */
    int32_t top_k;            /* 0: off */
    uint32_t min_tokens;      /* end tokens are barred until then */
    uint64_t seed;            /* drawn once at submit where the client gave none */
    uint8_t ignore_end;       /* ignore_eos: end tokens do not end it */
    uint8_t logprobs;         /* 1: the sampled token's, and top_logprobs more */
    uint8_t top_logprobs;     /* 0 to TOP_LOGPROBS_MAX */
    uint8_t padding[5];
};

struct logprob {
    uint32_t token;
    float value; /* natural log-softmax of the raw logits */
};

struct logit_bias {
    uint32_t token;
    float bias;
};

struct request_record {
    _Atomic uint32_t state; /* enum request_state */
    uint32_t use;           /* grows each time the slot is taken: tells uses apart */
    char id[REQUEST_ID_BYTES];
    uint8_t owner_key[OWNER_KEY_BYTES];
    uint8_t body_digest[32]; /* same id and choice with another digest: conflict */
    uint64_t frontend;       /* whose polls carry its events */
    uint64_t submit_number;  /* order of arrival at the scheduler */
    uint32_t choice;
    int32_t priority; /* lower first, as in vLLM; the policy may ignore it */
    struct sampling sampling;

    uint32_t prompt_tokens_count;
    uint32_t max_tokens;          /* most tokens to generate */
    uint32_t tokens_count;        /* prompt + generated, those in the extent */
    uint32_t kv_rows_count;       /* rows computed; the newest token has none yet */
    uint32_t blocks_held_count;   /* entries of the block table in use */
    uint32_t cached_tokens_count; /* of the prompt, with rows of the prefix cache */
    uint32_t attempts;            /* worker deaths in its steps since one was committed */
    uint8_t finish_reason;        /* enum finish_reason */
    uint8_t failure_status;       /* enum status of FINISH_FAILED */
    uint8_t block_reason;         /* enum block_reason, while it waits */
    uint8_t cancel_requested;     /* enum finish_reason that it leaves with at the next
                                 boundary; FINISH_NONE: none asked for */

    uint64_t arrived_ns, admitted_ns, first_token_ns,
        finished_ns;      /* monotonic; 0: not yet */
    uint64_t deadline_ns; /* 0: none */
    uint64_t waited_ns[BLOCK_REASONS];
    char failure[FAILURE_BYTES]; /* one sentence */

    /* The extent: its pages in the heap, and what they hold, in this order. */
    uint32_t extent_page, extent_pages_count;
    uint32_t tokens_capacity;    /* u32 each: prompt, then generated */
    uint32_t blocks_capacity;    /* u32 each: the block table */
    uint32_t logprobs_per_token; /* struct logprob each, for every generated token */
    uint32_t logit_bias_count;   /* struct logit_bias each */
    uint32_t stop_tokens_count;  /* u32 each: ids that end it */
    uint32_t grammar_bytes;
    uint32_t client_blob_bytes; /* the frontend's, opaque here */

    /* Poison: after a death it runs in steps of at most so many sequences, until one of
     * them is committed; 0: any. Deaths alone: in steps of no other sequence. */
    uint16_t suspect_sequences_max;
    uint16_t deaths_alone;

    /* The prefix cache: links of the extent's chain that are known, 0 for a request that
     * takes no part in it; and its first so many blocks that were offered to it. */
    uint32_t chain_links_count;
    uint32_t blocks_offered_count;
};

/* The name of a block's tokens and of all before them (scheduler/core/prefix_chain.h). */
struct block_digest {
    uint8_t bytes[BLOCK_DIGEST_BYTES];
};

/* The parts of a record's extent, found by extent_view. */
struct extent {
    uint32_t *tokens;
    uint32_t *block_table;
    struct block_digest *chain; /* [1 + blocks_capacity]: the root, then each block's */
    struct logprob *logprobs;   /* [generated][logprobs_per_token]; first the sampled */
    struct logit_bias *logit_bias;
    uint32_t *stop_tokens;
    char *grammar;
    char *client_blob;
};

/* A block is cached, and may be found by its digest, while fill is the block size. It is
 * written last when a block is cached and first when one is not any more. */
struct block_record {
    struct block_digest digest;
    /* The block before it when it was computed; BLOCK_NONE: it is first. It may be
     * another's by now: the digest alone names the parent. */
    uint32_t parent;
    uint32_t fill;         /* tokens of the block that are computed and cached */
    uint64_t last_used_ns; /* when its last holder left; 0: not yet */
};

enum flight_kind {
    FLIGHT_SUBMIT,
    FLIGHT_ADMIT,
    FLIGHT_BLOCKED,
    FLIGHT_STEP,
    FLIGHT_COMMIT,
    FLIGHT_FINISH,
    FLIGHT_WORKER_ATTACHED,
    FLIGHT_WORKER_DIED,
    FLIGHT_RERUN
};

struct flight_event {
    uint64_t time_ns;
    uint64_t step_number;
    uint32_t kind; /* enum flight_kind */
    uint32_t record;
    uint32_t a, b; /* by kind: see scheduler/core/flight.h */
};

/* One process's view of a mapped control segment. */
struct control {
    struct control_header *header;
    struct worker_slot *workers;
    struct request_record *records;
    struct block_record *blocks;
    uint32_t *block_tokens;
    unsigned char *steps; /* step i at i * header->step_bytes; see proto/step.h */
    struct flight_event *flight;
    unsigned char *heap;
};

/* Bytes of both segments for a geometry, or STATUS_INVALID with a sentence when a count
 * is 0 or a product overflows. */
enum status layout_control_bytes(const struct geometry *geometry, uint64_t *size_bytes,
                                 struct fault *fault);
uint64_t layout_kv_bytes(const struct geometry *geometry);

/* Formats base, zeroed memory of layout_control_bytes, but does not set ready: the owner
 * fills its identity first and then calls layout_publish. */
void layout_format(void *base, const struct geometry *geometry);
void layout_publish(struct control_header *header);

/* Checks header and offsets of a mapped segment and fills the view. STATUS_CORRUPT names
 * what is wrong; STATUS_UNAVAILABLE when it is not ready. */
enum status layout_view(void *base, uint64_t size_bytes, struct control *control,
                        struct fault *fault);

/* Pages that a record's variable parts take, from its capacities and counts. */
uint32_t extent_pages(const struct request_record *record);
/* Finds the parts; the record's extent must lie within the heap (INVARIANT). */
struct extent extent_view(const struct control *control,
                          const struct request_record *record);

/* Where block's rows of one layer begin within the KV segment, in bytes: K at is_v 0.
 * Rows of kv_heads_count * key_length elements follow one another, one for each token. */
static inline uint64_t kv_rows_offset(const struct geometry *geometry, uint32_t block,
                                      uint32_t layer, uint32_t is_v)
{
    uint64_t plane_bytes = (uint64_t)geometry->block_size * geometry->kv_heads_count *
                           geometry->key_length * geometry->kv_element_bytes;
    return block * geometry->block_bytes + (2u * (uint64_t)layer + is_v) * plane_bytes;
}

#endif
