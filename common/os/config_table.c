#include "common/os/config_table.h"

#include <string.h>

#define ALL       (CONFIG_SERVE | CONFIG_FRONTEND | CONFIG_SCHEDULER | CONFIG_WORKER)
#define FRONT     (CONFIG_SERVE | CONFIG_FRONTEND)
#define SCHED     (CONFIG_SERVE | CONFIG_SCHEDULER)
#define WORK      (CONFIG_SERVE | CONFIG_WORKER)
#define COMPUTING (CONFIG_SERVE | CONFIG_SCHEDULER | CONFIG_WORKER)
#define AT(field) offsetof(struct config, field)

/* Far beyond what a machine serves; they keep products within 64 bits. */
#define MOST_TOKENS  (1u << 20)
#define MOST_SEQS    1024u
#define MOST_BLOCKS  (1u << 24)
#define MOST_POOL    (1ull << 44)
#define MOST_SECONDS 86400u /* a day */
#define MOST_THREADS 256u   /* as many as a worker takes: TEAM_THREADS_MAX */

/* name, kind, where, default, least, most, value, programs, group, help */
const struct option_row option_rows[] = {
    {"model", OPTION_TEXT, AT(model), "", 0, 0, "PATH", ALL, "Model",
     "GGUF file to serve (needed)"},
    {"served-model-name", OPTION_TEXT, AT(served_model_name), "", 0, 0, "NAME", FRONT,
     "Model", "name clients use; default: the file's name"},
    {"chat-template", OPTION_TEXT, AT(chat_template), "", 0, 0, "FILE", FRONT, "Model",
     "Jinja chat template; default: the GGUF's own"},
    {"max-model-len", OPTION_NUMBER, AT(max_model_len), "0", 0, MOST_TOKENS, "TOKENS",
     COMPUTING, "Model",
     "most tokens of one sequence; 0: the model's, if the pool holds it"},

    {"host", OPTION_TEXT, AT(host), "127.0.0.1", 0, 0, "ADDRESS", FRONT, "Network",
     "address to listen on"},
    {"port", OPTION_NUMBER, AT(port), "8080", 0, 65535, "PORT", FRONT, "Network",
     "HTTP port; 0: any free one, which is printed"},
    {"nng-listen", OPTION_TEXT, AT(nng_listen), "", 0, 0, "URL", FRONT, "Network",
     "one more nng door, tcp://ADDRESS:PORT; ipc in the runtime dir is always open"},
    {"api-key", OPTION_TEXT, AT(api_key), "", 0, 0, "KEY", FRONT, "Network",
     "what clients must send as bearer token; better given as ROPEWAY_API_KEY"},
    {"max-connections", OPTION_NUMBER, AT(max_connections), "1024", 1, 65536, "COUNT",
     FRONT, "Network", "most open HTTP connections; more are answered 503"},
    {"max-body-bytes", OPTION_NUMBER, AT(max_body_bytes), "4194304", 1024, 1u << 28,
     "BYTES", FRONT, "Network", "largest request body; larger ones are answered 413"},
    {"drain-timeout", OPTION_NUMBER, AT(drain_timeout_s), "30", 0, MOST_SECONDS,
     "SECONDS", FRONT, "Network", "how long a stop lets running streams finish"},
    {"stall-timeout", OPTION_NUMBER, AT(stall_timeout_s), "60", 1, MOST_SECONDS,
     "SECONDS", FRONT, "Network", "/health is 503 while an iteration takes longer"},

    {"max-num-seqs", OPTION_NUMBER, AT(max_num_seqs), "32", 1, MOST_SEQS, "COUNT",
     COMPUTING, "Scheduling", "slots: most requests running at once"},
    {"max-num-batched-tokens", OPTION_NUMBER, AT(max_num_batched_tokens), "0", 0,
     MOST_TOKENS, "TOKENS", COMPUTING, "Scheduling",
     "token budget: most tokens of an iteration; 0: 128, or chunk plus slots if more"},
    {"prefill-chunk", OPTION_NUMBER, AT(prefill_chunk), "64", 1, MOST_TOKENS, "TOKENS",
     COMPUTING, "Scheduling", "most prompt tokens of one request in one iteration"},
    {"scheduling-policy", OPTION_CHOICE, AT(scheduling_policy), "fcfs", 0, 0, "fcfs",
     SCHED, "Scheduling", "order of the waiting queue"},
    {"max-waiting-seqs", OPTION_NUMBER, AT(max_waiting), "256", 1, 65536, "COUNT", SCHED,
     "Scheduling", "most requests waiting; more are answered 429"},
    {"max-queue-wait", OPTION_NUMBER, AT(max_queue_wait_s), "600", 1, MOST_SECONDS,
     "SECONDS", SCHED, "Scheduling", "a request that waits longer is timed out"},

    {"block-size", OPTION_NUMBER, AT(block_size), "16", 8, 256, "TOKENS", SCHED, "Memory",
     "tokens of one KV block, a power of two"},
    {"kv-cache-memory", OPTION_BYTES, AT(kv_cache_memory_bytes), "0", 0, MOST_POOL,
     "BYTES", SCHED, "Memory",
     "size of the KV pool, say 2GiB; default 512MiB, or by --num-blocks"},
    {"num-blocks", OPTION_NUMBER, AT(num_blocks), "0", 0, MOST_BLOCKS, "COUNT", SCHED,
     "Memory", "blocks of the KV pool, instead of --kv-cache-memory"},
    {"kv-cache-dtype", OPTION_CHOICE, AT(kv_cache_dtype), "auto", 0, 0, "auto|fp16|fp32",
     COMPUTING, "Memory", "elements of the KV cache; auto: fp32 with --kernels general"},

    {"enable-prefix-caching", OPTION_CHOICE, AT(enable_prefix_caching), "on", 0, 0,
     "on|off", SCHED, "Memory",
     "share the KV blocks of equal beginnings; off: every prompt is computed"},

    {"workers", OPTION_NUMBER, AT(workers), "1", 1, 8, "COUNT", SCHED, "Computing",
     "worker processes; this version runs one"},
    {"threads", OPTION_NUMBER, AT(threads), "0", 0, MOST_THREADS, "COUNT", WORK,
     "Computing", "threads of a worker; 0: one for each core it may use"},
    {"kernels", OPTION_CHOICE, AT(kernels), "auto", 0, 0, "auto|general", COMPUTING,
     "Computing", "arithmetic; general: fp32 activations throughout, the tests' oracle"},

    {"instance", OPTION_TEXT, AT(instance), "default", 0, 0, "NAME", ALL, "Process",
     "tells servers on one machine apart: a-z, 0-9 and -, up to 32"},
    {"runtime-dir", OPTION_TEXT, AT(runtime_dir), "", 0, 0, "DIR", ALL, "Process",
     "sockets and locks; default: $XDG_RUNTIME_DIR or /tmp, by instance"},
    {"log-level", OPTION_CHOICE, AT(log_level), "info", 0, 0, "error|warn|info|debug",
     ALL, "Process", "what is logged to standard error"},
};

const size_t option_rows_count = sizeof option_rows / sizeof option_rows[0];

const struct option_row *option_find(const char *name)
{
    for (size_t row = 0; row < option_rows_count; row++)
        if (strcmp(option_rows[row].name, name) == 0)
            return &option_rows[row];
    return NULL;
}

#define NAME_BYTES_MAX 32

static unsigned least_of(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance of two names of at most NAME_BYTES_MAX characters. */
static unsigned distance(const char *a, const char *b)
{
    unsigned previous[NAME_BYTES_MAX + 1], current[NAME_BYTES_MAX + 1];
    size_t a_size = strlen(a), b_size = strlen(b);
    if (a_size > NAME_BYTES_MAX || b_size > NAME_BYTES_MAX)
        return NAME_BYTES_MAX;
    for (unsigned column = 0; column <= b_size; column++)
        previous[column] = column;
    for (unsigned row = 1; row <= a_size; row++) {
        current[0] = row;
        for (unsigned column = 1; column <= b_size; column++)
            current[column] =
                least_of(least_of(previous[column], current[column - 1]) + 1,
                         previous[column - 1] + (a[row - 1] != b[column - 1]));
        memcpy(previous, current, sizeof previous);
    }
    return previous[b_size];
}

const struct option_row *option_nearest(const char *name, unsigned program)
{
    const struct option_row *nearest = NULL;
    unsigned nearest_distance = (unsigned)strlen(name) / 2 + 1;
    for (size_t row = 0; row < option_rows_count; row++) {
        unsigned this_distance = distance(name, option_rows[row].name);
        if ((option_rows[row].programs & program) && this_distance < nearest_distance) {
            nearest = &option_rows[row];
            nearest_distance = this_distance;
        }
    }
    return nearest;
}
