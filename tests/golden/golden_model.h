/* golden_model.h - where the real weights are, or that this machine has none. */
#ifndef ROPEWAY_TESTS_GOLDEN_GOLDEN_MODEL_H
#define ROPEWAY_TESTS_GOLDEN_GOLDEN_MODEL_H

#include <stddef.h>

/* ctest's SKIP_RETURN_CODE of the golden tests. */
#define GOLDEN_SKIPPED 77

/* The value of variable, else file in the cache folder that ./serve fills
 * ($XDG_CACHE_HOME/ropeway, ~/.cache/ropeway). Ends the process with GOLDEN_SKIPPED and
 * a sentence where there is no such file. */
void golden_model_path(const char *variable, const char *file, char *path,
                       size_t path_bytes);

#endif
