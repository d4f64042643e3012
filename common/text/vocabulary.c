#include "common/text/vocabulary.h"

#include "common/base/invariant.h"
#include "common/text/byte_alphabet.h"
#include <stdlib.h>

#define SPM_SPACE      SPAN_LITERAL("\xE2\x96\x81") /* U+2581 */
#define TOKENS_MAX     (1u << 24)
#define BYTE_NAME_SIZE 6 /* <0xNN> */

/* Control tokens that end a turn or a text, of the model families that we know. */
static const char *const end_texts[] = {
    "<|im_end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|END_OF_TURN_TOKEN|>",
    "<end_of_turn>",
    "<end_of_utterance>",
    "<eos>",
    "</s>",
    "<EOT>",
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
};

static bool is_end_text(struct span text)
{
    for (size_t i = 0; i < sizeof end_texts / sizeof end_texts[0]; i++)
        if (span_equal(text, span_of(end_texts[i])))
            return true;
    return false;
}

/* Some files call turn markers user-defined, and user-defined tokens are found in what
 * people wrote: text of this form is a control token whatever the file says. */
static bool is_marker(struct span text)
{
    bool bars = text.size > 4 && memcmp(text.data, "<|", 2) == 0 &&
                memcmp(text.data + text.size - 2, "|>", 2) == 0;
    return bars || span_equal(text, SPAN_LITERAL("<start_of_turn>")) ||
           span_equal(text, SPAN_LITERAL("<end_of_turn>"));
}

static bool is_special(uint8_t type)
{
    return type == TOKEN_CONTROL || type == TOKEN_UNKNOWN || type == TOKEN_USER_DEFINED;
}

static bool is_plain(uint8_t type)
{
    return type == TOKEN_NORMAL || type == TOKEN_USER_DEFINED || type == TOKEN_UNUSED;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The byte of a token named <0xNN>, or -1. */
static int byte_of_name(struct span text)
{
    if (text.size != BYTE_NAME_SIZE || memcmp(text.data, "<0x", 3) != 0 ||
        text.data[5] != '>')
        return -1;
    int high = hex_digit(text.data[3]), low = hex_digit(text.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* text with a space for each U+2581. */
static size_t decode_spm(struct span text, char *bytes)
{
    size_t size = 0;
    for (size_t at = 0; at < text.size;) {
        struct span space = SPM_SPACE;
        if (text.size - at >= space.size &&
            memcmp(text.data + at, space.data, space.size) == 0) {
            bytes[size++] = ' ';
            at += space.size;
        } else {
            bytes[size++] = text.data[at++];
        }
    }
    return size;
}

/* Special tokens' texts are as people write them; the others' depend on the kind. */
static size_t decode(const struct vocabulary *vocabulary, uint8_t type, struct span text,
                     char *bytes)
{
    if (type == TOKEN_BYTE) {
        bytes[0] = (char)byte_of_name(text);
        return 1;
    }
    if (!is_special(type))
        return vocabulary->byte_level ? byte_alphabet_decode(text, bytes)
                                      : decode_spm(text, bytes);
    memcpy(bytes, text.data, text.size);
    return text.size;
}

static enum status check(const struct tokenizer_description *description,
                         struct fault *fault)
{
    uint32_t count = description->tokens_count;
    if (count == 0 || count > TOKENS_MAX)
        return fault_set(fault, STATUS_UNSUPPORTED, NULL,
                         "a vocabulary has 1 to %u tokens, not %u", TOKENS_MAX, count);
    const uint32_t ids[] = {description->bos, description->eos, description->unknown};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        if (ids[i] != TOKEN_NONE && ids[i] >= count)
            return fault_set(fault, STATUS_CORRUPT, NULL,
                             "the vocabulary names token %u, but has %u", ids[i], count);
    for (uint32_t id = 0; id < count; id++) {
        int32_t type = description->token_types[id];
        if (type < TOKEN_NORMAL || type > TOKEN_BYTE)
            return fault_set(fault, STATUS_CORRUPT, NULL,
                             "token %u has type %d; types are %d to %d", id, type,
                             TOKEN_NORMAL, TOKEN_BYTE);
        if (type == TOKEN_BYTE && byte_of_name(description->tokens[id]) < 0)
            return fault_set(fault, STATUS_CORRUPT, NULL,
                             "token %u stands for a byte, but its text is not <0xNN>",
                             id);
    }
    return STATUS_OK;
}

static bool take_memory(struct vocabulary *vocabulary,
                        const struct tokenizer_description *description)
{
    uint32_t count = description->tokens_count;
    size_t size = 0;
    INVARIANT(count > 0); /* check() refuses none */
    /* Twice: the text, and the bytes that it stands for, which are never more. */
    for (uint32_t id = 0; id < count; id++)
        size += 2 * description->tokens[id].size;
    vocabulary->count = count;
    vocabulary->bytes = calloc(count, sizeof *vocabulary->bytes);
    vocabulary->types = calloc(count, sizeof *vocabulary->types);
    vocabulary->end_ids = calloc(count, sizeof *vocabulary->end_ids);
    vocabulary->memory = malloc(size > 0 ? size : 1);
    return vocabulary->bytes && vocabulary->types && vocabulary->end_ids &&
           vocabulary->memory && map_init(&vocabulary->plain, count);
}

static uint8_t type_of(const struct tokenizer_description *description, uint32_t id)
{
    uint8_t type = (uint8_t)description->token_types[id];
    bool marker = type == TOKEN_USER_DEFINED && is_marker(description->tokens[id]);
    return marker ? TOKEN_CONTROL : type;
}

static void note_byte_and_end(struct vocabulary *vocabulary, uint32_t id,
                              struct span text, uint32_t eos)
{
    uint8_t type = vocabulary->types[id];
    struct span bytes = vocabulary->bytes[id];
    bool is_byte = vocabulary->byte_level ? type == TOKEN_NORMAL && bytes.size == 1
                                          : type == TOKEN_BYTE;
    if (is_byte && vocabulary->byte_ids[(uint8_t)bytes.data[0]] == TOKEN_NONE)
        vocabulary->byte_ids[(uint8_t)bytes.data[0]] = id;
    if (id == eos || (type == TOKEN_CONTROL && is_end_text(text)))
        vocabulary->end_ids[vocabulary->end_ids_count++] = id;
}

/* Copies texts and bytes, and files the plain tokens. */
static void copy_tokens(struct vocabulary *vocabulary,
                        const struct tokenizer_description *description)
{
    char *memory = vocabulary->memory;
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        struct span from = description->tokens[id];
        struct span text = {memory, from.size};
        if (from.size > 0)
            memcpy(memory, from.data, from.size);
        memory += from.size;
        uint8_t type = type_of(description, id);
        vocabulary->types[id] = type;
        size_t size = decode(vocabulary, type, text, memory);
        vocabulary->bytes[id] = (struct span){memory, size};
        memory += size;
        struct span key = vocabulary->byte_level ? vocabulary->bytes[id] : text;
        if (is_plain(type) && key.size > 0)
            map_put(&vocabulary->plain, key, id);
        note_byte_and_end(vocabulary, id, text, description->eos);
    }
}

static bool index_specials(struct vocabulary *vocabulary)
{
    uint32_t count = 0;
    for (uint32_t id = 0; id < vocabulary->count; id++)
        count += is_special(vocabulary->types[id]) && vocabulary->bytes[id].size > 0;
    struct special *specials = calloc(count > 0 ? count : 1, sizeof *specials);
    if (!specials)
        return false;
    uint32_t filled = 0;
    for (uint32_t id = 0; id < vocabulary->count; id++) {
        uint8_t type = vocabulary->types[id];
        if (is_special(type) && vocabulary->bytes[id].size > 0)
            specials[filled++] =
                (struct special){vocabulary->bytes[id], id, type != TOKEN_USER_DEFINED};
    }
    special_index_init_take(&vocabulary->specials, specials, count);
    return true;
}

enum status vocabulary_init(struct vocabulary *vocabulary,
                            const struct tokenizer_description *description,
                            struct fault *fault)
{
    *vocabulary =
        (struct vocabulary){.byte_level = strcmp(description->model, "gpt2") == 0};
    for (size_t byte = 0; byte < 256; byte++)
        vocabulary->byte_ids[byte] = TOKEN_NONE;
    enum status status = check(description, fault);
    if (status != STATUS_OK)
        return status;
    bool taken = take_memory(vocabulary, description);
    if (taken)
        copy_tokens(vocabulary, description);
    if (!taken || !index_specials(vocabulary)) {
        vocabulary_fini(vocabulary);
        return fault_set(fault, STATUS_NO_SPACE, NULL, "no memory for a vocabulary");
    }
    return STATUS_OK;
}

void vocabulary_fini(struct vocabulary *vocabulary)
{
    special_index_fini(&vocabulary->specials);
    map_fini(&vocabulary->plain);
    free(vocabulary->bytes);
    free(vocabulary->types);
    free(vocabulary->end_ids);
    free(vocabulary->memory);
    *vocabulary = (struct vocabulary){0};
}
