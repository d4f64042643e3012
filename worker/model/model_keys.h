/* model_keys.h - metadata under the architecture's own prefix: "llama.rope.freq_base". */
#ifndef ROPEWAY_WORKER_MODEL_MODEL_KEYS_H
#define ROPEWAY_WORKER_MODEL_MODEL_KEYS_H

#include "worker/model/model.h"

enum key_presence { KEY_NEEDED, KEY_OPTIONAL };

/* Each leaves value as it is where an optional key is absent; a needed one that is absent
 * and a value of another type are faults that name the key. */
enum status model_key_u32(const struct model *model, const char *name,
                          enum key_presence presence, uint32_t *value,
                          struct fault *fault);
enum status model_key_f32(const struct model *model, const char *name,
                          enum key_presence presence, float *value, struct fault *fault);
enum status model_key_string(const struct model *model, const char *name,
                             enum key_presence presence, struct span *value,
                             struct fault *fault);

#endif
