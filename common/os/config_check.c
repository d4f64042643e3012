#include "common/os/config_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INSTANCE_BYTES_MAX 32
/* sockaddr_un holds 108 bytes; the longest socket name is "/scheduler.ipc". */
#define RUNTIME_DIR_BYTES_MAX   90
#define TOKEN_BUDGET_DEFAULT    128
#define KV_CACHE_MEMORY_DEFAULT (512ull << 20)

static enum status check_instance(const struct config *config, struct fault *fault)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t size = strlen(config->instance);
    if (size == 0 || size > INSTANCE_BYTES_MAX ||
        strspn(config->instance, allowed) != size)
        return fault_set(fault, STATUS_INVALID, "instance",
                         "--instance '%.64s': a name is 1 to %d of a-z, 0-9 and -",
                         config->instance, INSTANCE_BYTES_MAX);
    return STATUS_OK;
}

/* A step's length is what a stream waits for its next token while prompts are computed,
 * so the budget is no larger than prompts need to keep the kernels busy. */
static enum status check_budget(struct config *config, struct fault *fault)
{
    uint32_t least = config->prefill_chunk + config->max_num_seqs;
    if (config->max_num_batched_tokens == 0)
        config->max_num_batched_tokens =
            least > TOKEN_BUDGET_DEFAULT ? least : TOKEN_BUDGET_DEFAULT;
    if (config->max_num_batched_tokens < least)
        return fault_set(
            fault, STATUS_INVALID, "max-num-batched-tokens",
            "--max-num-batched-tokens %u is less than --prefill-chunk %u plus "
            "--max-num-seqs %u, so progress is not certain; give %u or more",
            config->max_num_batched_tokens, config->prefill_chunk, config->max_num_seqs,
            least);
    return STATUS_OK;
}

static enum status check_pool(struct config *config, struct fault *fault)
{
    if (config->block_size & (config->block_size - 1))
        return fault_set(fault, STATUS_INVALID, "block-size",
                         "--block-size %u is not a power of two; 16 is usual",
                         config->block_size);
    if (config->num_blocks && config->kv_cache_memory_bytes)
        return fault_set(fault, STATUS_INVALID, "num-blocks",
                         "--num-blocks %u and --kv-cache-memory %llu both size the pool; "
                         "give one of them",
                         config->num_blocks,
                         (unsigned long long)config->kv_cache_memory_bytes);
    if (!config->num_blocks && !config->kv_cache_memory_bytes)
        config->kv_cache_memory_bytes = KV_CACHE_MEMORY_DEFAULT;
    if (config->workers > 1)
        return fault_set(fault, STATUS_UNSUPPORTED, "workers",
                         "--workers %u: this version runs one worker; give its --threads "
                         "the cores instead",
                         config->workers);
    return STATUS_OK;
}

static enum status fill_runtime_dir(struct config *config, struct fault *fault)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    if (!config->runtime_dir[0] && base && base[0])
        snprintf(config->runtime_dir, sizeof config->runtime_dir, "%.300s/ropeway-%.200s",
                 base, config->instance);
    else if (!config->runtime_dir[0])
        snprintf(config->runtime_dir, sizeof config->runtime_dir,
                 "/tmp/ropeway-%u-%.200s", (unsigned)geteuid(), config->instance);
    if (strlen(config->runtime_dir) > RUNTIME_DIR_BYTES_MAX)
        return fault_set(
            fault, STATUS_INVALID, "runtime-dir",
            "--runtime-dir '%.120s' is longer than the %d bytes that a socket's "
            "path has room for; choose a shorter one",
            config->runtime_dir, RUNTIME_DIR_BYTES_MAX);
    return STATUS_OK;
}

enum status config_check(struct config *config, enum config_program program,
                         struct fault *fault)
{
    enum status status = check_instance(config, fault);
    if (!status && !config->model[0])
        status = fault_set(fault, STATUS_INVALID, "model",
                           "no model: give --model PATH, a GGUF file");
    if (!status && program & (CONFIG_SERVE | CONFIG_SCHEDULER | CONFIG_WORKER))
        status = check_budget(config, fault);
    if (!status && program & (CONFIG_SERVE | CONFIG_SCHEDULER))
        status = check_pool(config, fault);
    if (!status)
        status = fill_runtime_dir(config, fault);
    return status;
}
