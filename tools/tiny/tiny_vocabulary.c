#include "tools/tiny/tiny_vocabulary.h"

#include "common/base/invariant.h"
#include <stdio.h>

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };

/* "_" stands for the space that begins a word: U+0120 in byte-level BPE, U+2581 in SPM.
 * Each merge joins two tokens that are there already. */
static const char *const merges[][2] = {
    {"_", "t"},   {"h", "e"},    {"i", "n"},   {"e", "r"},  {"a", "n"},   {"_", "a"},
    {"o", "n"},   {"r", "e"},    {"_t", "he"}, {"a", "t"},  {"_", "s"},   {"o", "u"},
    {"e", "n"},   {"_", "w"},    {"i", "t"},   {"i", "s"},  {"o", "r"},   {"_", "c"},
    {"an", "d"},  {"_", "b"},    {"e", "s"},   {"_", "o"},  {"_", "and"}, {"in", "g"},
    {"_", "f"},   {"e", "d"},    {"_", "p"},   {"l", "l"},  {"a", "r"},   {"_", "in"},
    {"_t", "o"},  {"_o", "f"},   {"_", "m"},   {"a", "l"},  {"_", "h"},   {"_", "d"},
    {"i", "c"},   {"o", "m"},    {"l", "e"},   {"_", "is"}, {"_t", "h"},  {"_th", "at"},
    {"_", "y"},   {"_y", "ou"},  {"_", "on"},  {"e", "l"},  {"_f", "or"}, {"_b", "e"},
    {"v", "er"},  {"s", "t"},    {"_", "it"},  {"i", "on"}, {"a", "s"},   {"_w", "as"},
    {"_w", "it"}, {"_wit", "h"}, {"_h", "e"},  {"_", "re"}, {"_c", "an"}, {"_w", "e"},
};

#define MERGES_COUNT (sizeof merges / sizeof merges[0])

static const char space_bpe[] = "\xC4\xA0", space_spm[] = "\xE2\x96\x81";

static struct tiny_token *add(struct tiny_vocabulary *vocabulary, int32_t type)
{
    INVARIANT(vocabulary->count < TINY_TOKENS_MAX);
    struct tiny_token *token = &vocabulary->tokens[vocabulary->count++];
    *token = (struct tiny_token){.type = type};
    return token;
}

static struct tiny_token *add_text(struct tiny_vocabulary *vocabulary, int32_t type,
                                   const char *text)
{
    struct tiny_token *token = add(vocabulary, type);
    snprintf(token->text, sizeof token->text, "%s", text);
    return token;
}

/* Appends part to text with its "_" written as space. */
static void append_part(char text[TINY_TOKEN_BYTES_MAX], const char *part,
                        const char *space)
{
    size_t used = strlen(text);
    snprintf(text + used, TINY_TOKEN_BYTES_MAX - used, "%s%s",
             part[0] == '_' ? space : "", part + (part[0] == '_'));
}

static void add_merges(struct tiny_vocabulary *vocabulary, const char *space)
{
    for (size_t i = 0; i < MERGES_COUNT; i++) {
        struct tiny_token *token = add(vocabulary, NORMAL);
        append_part(token->text, merges[i][0], space);
        append_part(token->text, merges[i][1], space);
        token->score = -(float)i - 1.0f;
        token->likely = true;
    }
}

/* GPT-2's alphabet: a byte that Latin-1 prints stands for itself, the n-th of the others
 * is U+0100 + n. */
static uint32_t letter_of_byte(uint32_t byte)
{
    uint32_t others = 0;
    for (uint32_t b = 0; b <= byte; b++) {
        bool prints = (b >= 33 && b <= 126) || (b >= 161 && b != 173);
        if (b == byte && prints)
            return byte;
        others += !prints;
    }
    return 0x100 + others - 1;
}

void tiny_vocabulary_bpe(struct tiny_vocabulary *vocabulary)
{
    *vocabulary = (struct tiny_vocabulary){0};
    add_text(vocabulary, CONTROL, "<|endoftext|>");
    add_text(vocabulary, CONTROL, "<|im_start|>");
    add_text(vocabulary, CONTROL, "<|im_end|>");
    for (uint32_t byte = 0; byte < 256; byte++) {
        struct tiny_token *token = add(vocabulary, NORMAL);
        uint32_t letter = letter_of_byte(byte);
        bool one = letter < 0x80; /* byte of UTF-8; all others take two */
        token->text[0] = (char)(one ? letter : 0xC0 | letter >> 6);
        token->text[1] = (char)(one ? 0 : 0x80 | (letter & 0x3F));
        token->likely = byte == '\n' || (byte >= ' ' && byte <= '~');
    }
    add_merges(vocabulary, space_bpe);
}

/* Lower than every piece of several characters. */
#define CHARACTER_SCORE (-1000.0f)

void tiny_vocabulary_spm(struct tiny_vocabulary *vocabulary)
{
    *vocabulary = (struct tiny_vocabulary){0};
    add_text(vocabulary, UNKNOWN, "<unk>");
    add_text(vocabulary, CONTROL, "<s>");
    add_text(vocabulary, CONTROL, "</s>");
    for (uint32_t byte = 0; byte < 256; byte++)
        snprintf(add(vocabulary, BYTE)->text, TINY_TOKEN_BYTES_MAX, "<0x%02X>", byte);
    for (int character = ' '; character <= '~'; character++) {
        const char text[] = {(char)character, 0};
        struct tiny_token *token =
            add_text(vocabulary, NORMAL, character == ' ' ? space_spm : text);
        token->score = CHARACTER_SCORE - (float)character;
        token->likely = true;
    }
    add_merges(vocabulary, space_spm);
}

static void write_tokens(const struct tiny_vocabulary *vocabulary,
                         struct gguf_writer *writer)
{
    gguf_writer_array(writer, "tokenizer.ggml.tokens", GGUF_STRING, vocabulary->count);
    for (uint32_t i = 0; i < vocabulary->count; i++)
        gguf_write_string(&writer->metadata, span_of(vocabulary->tokens[i].text));
    gguf_writer_array(writer, "tokenizer.ggml.token_type", GGUF_I32, vocabulary->count);
    for (uint32_t i = 0; i < vocabulary->count; i++)
        gguf_write_u32(&writer->metadata, (uint32_t)vocabulary->tokens[i].type);
}

static void write_merges(struct gguf_writer *writer)
{
    gguf_writer_array(writer, "tokenizer.ggml.merges", GGUF_STRING, MERGES_COUNT);
    for (size_t i = 0; i < MERGES_COUNT; i++) {
        char text[TINY_TOKEN_BYTES_MAX] = "";
        append_part(text, merges[i][0], space_bpe);
        append_part(text, " ", space_bpe);
        append_part(text, merges[i][1], space_bpe);
        gguf_write_string(&writer->metadata, span_of(text));
    }
}

static void write_ids(struct gguf_writer *writer, uint32_t unknown, uint32_t bos,
                      uint32_t eos)
{
    gguf_writer_u32(writer, "tokenizer.ggml.unknown_token_id", unknown);
    gguf_writer_u32(writer, "tokenizer.ggml.bos_token_id", bos);
    gguf_writer_u32(writer, "tokenizer.ggml.eos_token_id", eos);
}

void tiny_vocabulary_write_bpe(const struct tiny_vocabulary *vocabulary,
                               struct gguf_writer *writer)
{
    gguf_writer_string(writer, "tokenizer.ggml.model", "gpt2");
    gguf_writer_string(writer, "tokenizer.ggml.pre", "smollm");
    write_tokens(vocabulary, writer);
    write_merges(writer);
    write_ids(writer, 0, 1, 2);
    gguf_writer_bool(writer, "tokenizer.ggml.add_bos_token", false);
    gguf_writer_string(
        writer, "tokenizer.chat_template",
        "{% for message in messages %}"
        "{% if loop.first and message['role'] != 'system' %}"
        "{{ '<|im_start|>system\nYou are tiny.<|im_end|>\n' }}{% endif %}"
        "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
        "'<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}");
}

void tiny_vocabulary_write_spm(const struct tiny_vocabulary *vocabulary,
                               struct gguf_writer *writer)
{
    gguf_writer_string(writer, "tokenizer.ggml.model", "llama");
    write_tokens(vocabulary, writer);
    gguf_writer_array(writer, "tokenizer.ggml.scores", GGUF_F32, vocabulary->count);
    for (uint32_t i = 0; i < vocabulary->count; i++)
        buffer_append(&writer->metadata, &vocabulary->tokens[i].score, sizeof(float));
    write_ids(writer, 0, 1, 2);
    gguf_writer_bool(writer, "tokenizer.ggml.add_bos_token", true);
    gguf_writer_string(writer, "tokenizer.chat_template",
                       "{{ bos_token }}{% for message in messages %}"
                       "{{ message['role'] + ': ' + message['content'] + '\n' }}"
                       "{% endfor %}"
                       "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}");
}
