/* reference_model.h - a real model's tokenizer, for programs that compare with others. */
#ifndef ROPEWAY_TESTS_TEXT_REFERENCE_MODEL_H
#define ROPEWAY_TESTS_TEXT_REFERENCE_MODEL_H

#include "common/text/tokenizer.h"

/* Of the model that golden_model_path finds; the caller destroys it. Ends the process
 * where there is none (GOLDEN_SKIPPED) or it cannot be read (1). */
struct tokenizer *reference_model_tokenizer(const char *variable, const char *file);

#endif
