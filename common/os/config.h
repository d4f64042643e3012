/* config.h - every option of every program, defined once.
 *
 * Order:  defaults < INI file (--config) < environment (ROPEWAY_<NAME>) < flags.
 * Table:  config_table.c has one row an option: flag, kind, bounds, default, help, and
 *         which programs take it. --help, the INI keys and the environment's names all
 *         come from that table. Names are vLLM's where it has one.
 * Errors: one sentence that names the option, its value and the remedy; the caller prints
 *         it and exits with 2.
 */
#ifndef ROPEWAY_COMMON_OS_CONFIG_H
#define ROPEWAY_COMMON_OS_CONFIG_H

#include "common/base/buffer.h"
#include "common/base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum config_program {
    CONFIG_SERVE = 1,
    CONFIG_FRONTEND = 2,
    CONFIG_SCHEDULER = 4,
    CONFIG_WORKER = 8
};

#define CONFIG_TEXT_BYTES 512

struct config {
    char model[CONFIG_TEXT_BYTES];             /* --model PATH, needed */
    char served_model_name[CONFIG_TEXT_BYTES]; /* --served-model-name; from the file */
    char host[CONFIG_TEXT_BYTES];              /* --host 127.0.0.1 */
    uint32_t port;                             /* --port 8080; 0: any, printed */
    char nng_listen[CONFIG_TEXT_BYTES];     /* --nng-listen tcp://...; ipc is always on */
    char api_key[CONFIG_TEXT_BYTES];        /* --api-key; empty: none asked for */
    char instance[CONFIG_TEXT_BYTES];       /* --instance default */
    char runtime_dir[CONFIG_TEXT_BYTES];    /* --runtime-dir */
    char log_level[CONFIG_TEXT_BYTES];      /* --log-level info */
    char kernels[CONFIG_TEXT_BYTES];        /* --kernels auto|general (ROPEWAY_KERNELS) */
    char kv_cache_dtype[CONFIG_TEXT_BYTES]; /* --kv-cache-dtype auto|fp16|fp32 */
    char scheduling_policy[CONFIG_TEXT_BYTES];     /* --scheduling-policy fcfs */
    char enable_prefix_caching[CONFIG_TEXT_BYTES]; /* --enable-prefix-caching on|off */
    char chat_template[CONFIG_TEXT_BYTES]; /* --chat-template FILE; default: the GGUF's */
    uint32_t max_model_len;                /* 0: the model's, bounded by the pool */
    uint32_t max_num_seqs;                 /* slots: 32 */
    uint32_t max_num_batched_tokens;       /* token budget: 128 or more */
    uint32_t prefill_chunk;                /* 64 */
    uint32_t block_size;                   /* 16 */
    uint64_t kv_cache_memory_bytes; /* --kv-cache-memory 1GiB; 0 with num_blocks given */
    uint32_t num_blocks;            /* 0: from kv_cache_memory */
    uint32_t workers;               /* 1 */
    uint32_t threads;               /* 0: one for each core this process may use */
    uint32_t max_waiting;           /* --max-waiting-seqs 256: more is 429 */
    uint32_t max_queue_wait_s;      /* --max-queue-wait 600 */
    uint32_t max_connections;       /* 1024 */
    uint32_t max_body_bytes;        /* 4 MiB */
    uint32_t drain_timeout_s;       /* 30: how long SIGTERM lets streams finish */
    uint32_t stall_timeout_s;       /* 60: a step that takes longer hangs */
};

/* Parses argv for program. On --help or --version prints to stdout and sets *exit_now
 * (the caller exits 0). Options of other programs are refused, except that `serve` takes
 * all. */
enum status config_load(struct config *config, enum config_program program, int argc,
                        char **argv, bool *exit_now, struct fault *fault);

/* The flags that give program this configuration, NULL-terminated, for exec; freed by
 * config_argv_free. NULL when memory is out. The API key is not among them: it goes by
 * environment. */
char **config_argv(const struct config *config, enum config_program program,
                   const char *executable);
void config_argv_free(char **argv);

/* "<runtime_dir>/<file>": where an instance's processes meet. */
#define CONFIG_PATH_BYTES (CONFIG_TEXT_BYTES + 32)
#define CONFIG_PORT_FILE  "frontend.port"
void config_path(const struct config *config, const char *file,
                 char path[CONFIG_PATH_BYTES]);

/* The names of config_url's sockets. */
#define CONFIG_SCHEDULER_DOOR "scheduler"
#define CONFIG_FRONTEND_DOOR  "frontend"

/* "ipc://<runtime_dir>/<name>.ipc"; runtime_dir defaults to
 * $XDG_RUNTIME_DIR/ropeway-<instance> or /tmp/ropeway-<uid>-<instance>, made 0700. */
void config_url(const struct config *config, const char *name, char *url,
                size_t url_bytes);

#endif
