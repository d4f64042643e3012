/* gguf_foreign.h - says what a file is that is no GGUF: for the sentence to the operator.
 */
#ifndef ROPEWAY_COMMON_GGUF_GGUF_FOREIGN_H
#define ROPEWAY_COMMON_GGUF_GGUF_FOREIGN_H

#include "common/base/span.h"

/* "is a git-lfs pointer, not the model; fetch it with git lfs pull". Never NULL. */
const char *gguf_foreign_sentence(struct span file);

#endif
