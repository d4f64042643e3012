#include "worker/model/model_keys.h"
#include <stdio.h>

#define KEY_BYTES_MAX 128

static void full_key(const struct model *model, const char *name, char *key)
{
    snprintf(key, KEY_BYTES_MAX, "%s.%s", model->architecture->name, name);
}

/* Absent is as good as read where the key is optional. */
static enum status settle(enum status status, enum key_presence presence)
{
    return status == STATUS_NOT_FOUND && presence == KEY_OPTIONAL ? STATUS_OK : status;
}

enum status model_key_u32(const struct model *model, const char *name,
                          enum key_presence presence, uint32_t *value,
                          struct fault *fault)
{
    char key[KEY_BYTES_MAX];
    full_key(model, name, key);
    return settle(gguf_get_u32(model->gguf, key, value, fault), presence);
}

enum status model_key_f32(const struct model *model, const char *name,
                          enum key_presence presence, float *value, struct fault *fault)
{
    char key[KEY_BYTES_MAX];
    full_key(model, name, key);
    return settle(gguf_get_f32(model->gguf, key, value, fault), presence);
}

enum status model_key_string(const struct model *model, const char *name,
                             enum key_presence presence, struct span *value,
                             struct fault *fault)
{
    char key[KEY_BYTES_MAX];
    full_key(model, name, key);
    return settle(gguf_get_string(model->gguf, key, value, fault), presence);
}
