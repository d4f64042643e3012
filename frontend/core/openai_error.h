/* openai_error.h - an error as OpenAI's clients read it.
 *
 *   {"error":{"message":…,"type":…,"param":… or null,"code":…}}
 *
 * Layer:   frontend/core (pure).
 */
#ifndef ROPEWAY_FRONTEND_CORE_OPENAI_ERROR_H
#define ROPEWAY_FRONTEND_CORE_OPENAI_ERROR_H

#include "common/base/buffer.h"
#include "common/base/status.h"

/* A sentence of control characters grows sixfold when escaped. */
#define OPENAI_ERROR_BYTES_MAX 8192

void openai_error_write(struct buffer *out, const struct fault *fault);

#endif
