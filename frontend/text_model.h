/* text_model.h - all that the frontend knows of a model: its words and its chat template.
 *
 * Thread:  read-only after the open; prompts may be made on any number of threads at
 *          once.
 */
#ifndef ROPEWAY_FRONTEND_TEXT_MODEL_H
#define ROPEWAY_FRONTEND_TEXT_MODEL_H

#include "common/os/config.h"
#include "common/text/tokenizer.h"
#include "frontend/core/generation_request.h"

struct text_model;

/* Opens config->model, and config->chat_template where it is given. A template that
 * cannot be compiled fails the start; a model without one serves completions only. */
enum status text_model_open(struct text_model **model, const struct config *config,
                            struct fault *fault);
void text_model_close(struct text_model *model);

const struct tokenizer *text_model_tokenizer(const struct text_model *model);

/* The context that the model was made for. */
uint32_t text_model_context_length(const struct text_model *model);

/* The name that clients use: --served-model-name, or the file's name without .gguf. */
void text_model_name(const struct config *config, char *name, size_t name_bytes);

/* One prompt of a completion: special tokens are parsed in it, and BOS is added where the
 * vocabulary asks for it. list is initialised here; token_list_fini in any case. */
enum status text_model_prompt(const struct text_model *model, const struct prompt *prompt,
                              struct token_list *list, struct fault *fault);

/* A chat's prompt: special tokens come from the template's own text alone. */
enum status text_model_chat(const struct text_model *model,
                            const struct generation_request *request, int64_t now_unix_s,
                            struct token_list *list, struct fault *fault);

/* The text of a prompt, as echo shows it; appended to text. */
void text_model_echo(const struct text_model *model, const struct prompt *prompt,
                     struct buffer *text);

#endif
