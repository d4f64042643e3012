/* perplexity.h - how well a model foretells a text: `ropeway perplexity`.
 *
 * Layer:    tools (worker/model and the tokenizer).
 * Windows:  the text is tokenized whole, without special tokens, and cut into windows of
 *           `window` tokens, the last one shorter. A vocabulary that asks for BOS has it
 *           in front of each window, within its length. Each window begins with an empty
 *           cache, and its first token is not scored.
 */
#ifndef ROPEWAY_TOOLS_PERPLEXITY_H
#define ROPEWAY_TOOLS_PERPLEXITY_H

#include "common/base/status.h"
#include <stdbool.h>
#include <stdint.h>

struct perplexity_result {
    double mean_nll; /* nats a token; perplexity is e to it */
    uint64_t tokens_count;
    uint64_t scored_count;
    bool bos_each_window;
};

/* Called after each window; may be NULL. */
typedef void perplexity_progress(void *context, const struct perplexity_result *so_far);

enum status perplexity_measure(const char *model_path, const char *text_path,
                               uint32_t window, uint32_t threads_count,
                               perplexity_progress *progress, void *context,
                               struct perplexity_result *result, struct fault *fault);

/* The subcommand; argv[0] is its name. Returns the process's exit code. */
int perplexity_main(int argc, char **argv);

#endif
