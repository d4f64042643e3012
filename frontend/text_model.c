#include "frontend/text_model.h"

#include "common/gguf/model_shape.h"
#include "common/os/log.h"
#include "common/os/mapped_file.h"
#include "common/text/detokenizer.h"
#include "common/text/tokenizer_gguf.h"
#include "frontend/core/chat.h"
#include "rust/ropeway_template.h"
#include <stdlib.h>

#define EOS_KEY "tokenizer.ggml.eos_token_id"

/* A text gives at most a token a byte, and the vocabulary adds BOS and EOS. */
#define ADDED_TOKENS_MAX 2

struct text_model {
    struct tokenizer *tokenizer;
    struct ropeway_template *chat_template; /* NULL: the model has none */
    struct model_shape shape;
    uint32_t eos; /* or TOKEN_NONE */
};

/* --- opening --------------------------------------------------------------------- */

/* The texts of all control tokens: those that have one only as special text. */
static size_t list_specials(const struct tokenizer *tokenizer,
                            struct ropeway_template_text *specials)
{
    size_t count = 0;
    for (uint32_t token = 0; token < tokenizer_tokens_count(tokenizer); token++) {
        struct span text = tokenizer_token_bytes(tokenizer, token, true);
        bool is_control = tokenizer_token_bytes(tokenizer, token, false).size == 0;
        if (is_control && text.size > 0)
            specials[count++] = (struct ropeway_template_text){text.data, text.size};
    }
    return count;
}

static enum status compile(struct text_model *model, struct span source,
                           struct fault *fault)
{
    char message[FAULT_SENTENCE_BYTES / 2];
    struct ropeway_template_text *specials =
        calloc(tokenizer_tokens_count(model->tokenizer), sizeof *specials);
    if (!specials)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "There is no memory to start.");
    size_t count = list_specials(model->tokenizer, specials);
    model->chat_template = ropeway_template_compile(source.data, source.size, specials,
                                                    count, message, sizeof message);
    free(specials);
    if (!model->chat_template)
        return fault_set(fault, STATUS_INVALID, "chat-template",
                         "The chat template cannot be compiled: %s", message);
    return STATUS_OK;
}

static enum status compile_file(struct text_model *model, const char *path,
                                struct fault *fault)
{
    struct mapped_file file;
    enum status status = mapped_file_open(&file, path, fault);
    if (status != STATUS_OK)
        return status;
    status = compile(model, (struct span){file.data, file.size_bytes}, fault);
    mapped_file_close(&file);
    return status;
}

static enum status open_template(struct text_model *model, const struct config *config,
                                 const struct gguf *gguf, struct fault *fault)
{
    struct span source;
    if (config->chat_template[0])
        return compile_file(model, config->chat_template, fault);
    enum status status = tokenizer_gguf_chat_template(gguf, &source, fault);
    if (status == STATUS_OK)
        return compile(model, source, fault);
    if (status != STATUS_NOT_FOUND)
        return status;
    log_warn("the model has no chat template: /v1/chat/completions will refuse");
    return STATUS_OK;
}

static enum status read_model(struct text_model *model, const struct config *config,
                              const struct gguf *gguf, struct fault *fault)
{
    enum status status = model_shape_read(gguf, &model->shape, fault);
    if (status == STATUS_OK)
        status = tokenizer_gguf_create(&model->tokenizer, gguf, fault);
    if (status == STATUS_OK)
        status = open_template(model, config, gguf, fault);
    if (status != STATUS_OK)
        return status;
    model->eos = TOKEN_NONE;
    status = gguf_get_u32(gguf, EOS_KEY, &model->eos, fault);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

enum status text_model_open(struct text_model **out, const struct config *config,
                            struct fault *fault)
{
    struct gguf *gguf;
    struct text_model *model = calloc(1, sizeof *model);
    if (!model)
        return fault_set(fault, STATUS_NO_SPACE, NULL, "There is no memory to start.");
    enum status status = gguf_open(&gguf, config->model, fault);
    if (status == STATUS_OK) {
        status = read_model(model, config, gguf, fault);
        gguf_close(gguf);
    }
    if (status != STATUS_OK) {
        text_model_close(model);
        return status;
    }
    *out = model;
    return STATUS_OK;
}

void text_model_close(struct text_model *model)
{
    if (model->chat_template)
        ropeway_template_free(model->chat_template);
    if (model->tokenizer)
        tokenizer_destroy(model->tokenizer);
    free(model);
}

const struct tokenizer *text_model_tokenizer(const struct text_model *model)
{
    return model->tokenizer;
}

uint32_t text_model_context_length(const struct text_model *model)
{
    return model->shape.context_length;
}

void text_model_name(const struct config *config, char *name, size_t name_bytes)
{
    static const char suffix[] = ".gguf";
    const char *slash = strrchr(config->model, '/');
    const char *file = slash ? slash + 1 : config->model;
    size_t size = strlen(file);
    if (config->served_model_name[0]) {
        snprintf(name, name_bytes, "%s", config->served_model_name);
        return;
    }
    if (size > sizeof suffix - 1 &&
        strcmp(file + size - (sizeof suffix - 1), suffix) == 0)
        size -= sizeof suffix - 1;
    snprintf(name, name_bytes, "%.*s", (int)size, file);
}

/* --- prompts --------------------------------------------------------------------- */

enum status text_model_prompt(const struct text_model *model, const struct prompt *prompt,
                              struct token_list *list, struct fault *fault)
{
    token_list_init(list, prompt->text.size + prompt->tokens_count + ADDED_TOKENS_MAX);
    for (size_t place = 0; place < prompt->tokens_count; place++)
        if (!token_list_push(list, prompt->tokens[place]))
            return fault_set(fault, STATUS_NO_SPACE, "prompt",
                             "There is no memory for the prompt.");
    if (prompt->tokens)
        return STATUS_OK;
    return tokenizer_encode(model->tokenizer, prompt->text,
                            TOKENIZE_SPECIAL | TOKENIZE_ADD, list, fault);
}

static enum status encode_pieces(const struct text_model *model,
                                 const struct ropeway_template_result *result,
                                 struct token_list *list, struct fault *fault)
{
    size_t size = 0;
    struct text_piece *pieces = calloc(result->pieces_count + 1, sizeof *pieces);
    if (!pieces)
        return fault_set(fault, STATUS_NO_SPACE, NULL,
                         "There is no memory for the chat.");
    for (size_t index = 0; index < result->pieces_count; index++) {
        const struct ropeway_template_piece *piece = &result->pieces[index];
        pieces[index] = (struct text_piece){.text = {piece->text, piece->size},
                                            .special = piece->from_template};
        size += piece->size;
    }
    list->bound = size + ADDED_TOKENS_MAX;
    /* The template itself writes BOS where its model wants one. */
    enum status status = tokenizer_encode_pieces(model->tokenizer, pieces,
                                                 result->pieces_count, 0, list, fault);
    free(pieces);
    return status;
}

/* The template's own objections are the client's to hear; other failures, too, but not
 * its source. */
static enum status refuse_chat(enum ropeway_template_error error, const char *message,
                               struct fault *fault)
{
    if (error == ROPEWAY_TEMPLATE_RAISED)
        return fault_set(fault, STATUS_INVALID, "messages",
                         "The model's chat template refuses these messages: %s", message);
    return fault_set(fault, STATUS_INVALID, "messages",
                     "The model's chat template cannot render these messages: %s",
                     message);
}

static struct span special_text(const struct text_model *model, uint32_t token)
{
    if (token == TOKEN_NONE || token >= tokenizer_tokens_count(model->tokenizer))
        return (struct span){0};
    return tokenizer_token_bytes(model->tokenizer, token, true);
}

static enum status render(const struct text_model *model, const char *context,
                          int64_t now_unix_s, struct token_list *list,
                          struct fault *fault)
{
    char message[FAULT_SENTENCE_BYTES / 2];
    struct ropeway_template_result result;
    enum ropeway_template_error error =
        ropeway_template_render(model->chat_template, context, strlen(context),
                                now_unix_s, &result, message, sizeof message);
    if (error != ROPEWAY_TEMPLATE_OK)
        return refuse_chat(error, message, fault);
    enum status status = encode_pieces(model, &result, list, fault);
    ropeway_template_result_free(&result);
    return status;
}

enum status text_model_chat(const struct text_model *model,
                            const struct generation_request *request, int64_t now_unix_s,
                            struct token_list *list, struct fault *fault)
{
    token_list_init(list, 0);
    if (!model->chat_template)
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "This model has no chat template; use /v1/completions.");
    char *context =
        chat_context(request, special_text(model, tokenizer_bos(model->tokenizer)),
                     special_text(model, model->eos));
    if (!context)
        return fault_set(fault, STATUS_NO_SPACE, NULL,
                         "There is no memory for the chat.");
    enum status status = render(model, context, now_unix_s, list, fault);
    free(context);
    return status;
}

void text_model_echo(const struct text_model *model, const struct prompt *prompt,
                     struct buffer *text)
{
    struct detokenizer detokenizer;
    if (!prompt->tokens) {
        buffer_append_span(text, prompt->text);
        return;
    }
    detokenizer_init(&detokenizer, model->tokenizer, true, false);
    for (size_t place = 0; place < prompt->tokens_count; place++)
        detokenizer_push(&detokenizer, prompt->tokens[place], text);
    detokenizer_finish(&detokenizer, text);
}
