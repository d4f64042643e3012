/* make_tiny_model - writes a GGUF model with fixed random weights, for tests.
 *
 * The same options give the same bytes on every machine. The model is a llama of a
 * quarter million weights whose tensors use every block format by turns. It says nothing
 * sensible, but prefers printable tokens and does not repeat itself at once.
 */
#include "common/base/invariant.h"
#include "tools/tiny/gguf_writer.h"
#include "tools/tiny/tiny_blocks.h"
#include "tools/tiny/tiny_vocabulary.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define EMBEDDING      64
#define HEADS          4
#define KV_HEADS       2
#define HEAD_LENGTH    16
#define FEED_FORWARD   256 /* rows of ffn_down: one block of the K formats */
#define LAYERS_MAX     64
#define CONTEXT_MAX    1000000
#define FILE_BYTES_MAX (64u << 20)

struct options {
    const char *out;
    uint64_t seed;
    uint32_t layers_count;
    uint32_t context_length;
    bool spm;
    bool tied; /* no output.weight: the embedding is used again */
};

/* A matrix of a layer, its formats by turns and its weights' spread. The spreads make
 * what a layer adds to the stream about as large as the stream, and attention choosy:
 * small ones would let the last token alone decide, and the text would go round in a
 * short circle. */
struct matrix {
    const char *name;
    uint32_t columns, rows;
    float spread;
    uint32_t formats_count;
    uint32_t formats[5];
};

static const struct matrix matrices[] = {
    {"attn_q",
     EMBEDDING,
     HEADS *HEAD_LENGTH,
     0.25f,
     3,
     {GGUF_TYPE_Q8_0, GGUF_TYPE_BF16, GGUF_TYPE_F32}},
    {"attn_k",
     EMBEDDING,
     KV_HEADS *HEAD_LENGTH,
     0.25f,
     3,
     {GGUF_TYPE_Q4_0, GGUF_TYPE_F16, GGUF_TYPE_Q5_1}},
    {"attn_v",
     EMBEDDING,
     KV_HEADS *HEAD_LENGTH,
     0.25f,
     3,
     {GGUF_TYPE_Q5_0, GGUF_TYPE_Q8_0, GGUF_TYPE_BF16}},
    {"attn_output",
     HEADS *HEAD_LENGTH,
     EMBEDDING,
     0.25f,
     3,
     {GGUF_TYPE_Q4_1, GGUF_TYPE_Q5_0, GGUF_TYPE_Q8_0}},
    {"ffn_gate",
     EMBEDDING,
     FEED_FORWARD,
     0.2f,
     3,
     {GGUF_TYPE_Q5_1, GGUF_TYPE_Q4_0, GGUF_TYPE_Q4_1}},
    {"ffn_up",
     EMBEDDING,
     FEED_FORWARD,
     0.2f,
     3,
     {GGUF_TYPE_F16, GGUF_TYPE_Q4_1, GGUF_TYPE_Q4_0}},
    {"ffn_down",
     FEED_FORWARD,
     EMBEDDING,
     0.1f,
     5,
     {GGUF_TYPE_Q4_K, GGUF_TYPE_Q6_K, GGUF_TYPE_Q5_K, GGUF_TYPE_Q2_K, GGUF_TYPE_Q3_K}},
};

#define MATRICES_COUNT (sizeof matrices / sizeof matrices[0])

/* Logits of likely tokens differ by a few units; those of the others stay near 0. Where
 * one matrix is both embedding and head it must be small beside what the layers add, or
 * each token would be followed by itself. */
#define EMBEDDING_SPREAD     1.0f
#define HEAD_LIKELY_SPREAD   0.4f
#define HEAD_UNLIKELY_SPREAD 0.02f

struct maker {
    struct options options;
    struct tiny_vocabulary vocabulary;
    struct gguf_writer writer;
    uint32_t tensors_made; /* each has a stream of random numbers */
};

static struct tiny_random next_stream(struct maker *maker)
{
    return (struct tiny_random){maker->options.seed, maker->tensors_made++, 0};
}

static void write_metadata(struct maker *maker)
{
    struct gguf_writer *writer = &maker->writer;
    const struct options *options = &maker->options;
    gguf_writer_string(writer, "general.architecture", "llama");
    gguf_writer_string(writer, "general.name", options->spm ? "tiny-spm" : "tiny");
    gguf_writer_u32(writer, "llama.block_count", options->layers_count);
    gguf_writer_u32(writer, "llama.context_length", options->context_length);
    gguf_writer_u32(writer, "llama.embedding_length", EMBEDDING);
    gguf_writer_u32(writer, "llama.feed_forward_length", FEED_FORWARD);
    gguf_writer_u32(writer, "llama.attention.head_count", HEADS);
    gguf_writer_u32(writer, "llama.attention.head_count_kv", KV_HEADS);
    gguf_writer_u32(writer, "llama.rope.dimension_count", HEAD_LENGTH);
    gguf_writer_f32(writer, "llama.rope.freq_base", 10000.0f);
    gguf_writer_f32(writer, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    gguf_writer_u32(writer, "llama.vocab_size", maker->vocabulary.count);
    if (options->spm)
        tiny_vocabulary_write_spm(&maker->vocabulary, writer);
    else
        tiny_vocabulary_write_bpe(&maker->vocabulary, writer);
}

static void write_matrix(struct maker *maker, uint32_t layer, const struct matrix *matrix)
{
    char name[64];
    uint32_t format = matrix->formats[layer % matrix->formats_count];
    struct tiny_random random = next_stream(maker);
    snprintf(name, sizeof name, "blk.%u.%s.weight", layer, matrix->name);
    gguf_writer_tensor(&maker->writer, name, format, matrix->columns, matrix->rows);
    tiny_blocks_append(&maker->writer.data, format,
                       (uint64_t)matrix->columns * matrix->rows, matrix->spread, &random);
}

/* Gains about 1, as trained norms have them. */
static void write_norm(struct maker *maker, const char *name)
{
    struct tiny_random random = next_stream(maker);
    gguf_writer_tensor(&maker->writer, name, GGUF_TYPE_F32, EMBEDDING, 0);
    for (int i = 0; i < EMBEDDING; i++) {
        float gain = 0.75f + (float)(tiny_random_next(&random) >> 8) * 0x1p-25f;
        buffer_append(&maker->writer.data, &gain, sizeof gain);
    }
}

static void write_layer(struct maker *maker, uint32_t layer)
{
    char name[64];
    snprintf(name, sizeof name, "blk.%u.attn_norm.weight", layer);
    write_norm(maker, name);
    snprintf(name, sizeof name, "blk.%u.ffn_norm.weight", layer);
    write_norm(maker, name);
    for (size_t i = 0; i < MATRICES_COUNT; i++)
        write_matrix(maker, layer, &matrices[i]);
}

/* One row a token. */
static void write_token_rows(struct maker *maker, const char *name, uint32_t format,
                             float likely, float unlikely)
{
    struct tiny_random random = next_stream(maker);
    gguf_writer_tensor(&maker->writer, name, format, EMBEDDING, maker->vocabulary.count);
    for (uint32_t i = 0; i < maker->vocabulary.count; i++)
        tiny_blocks_append(&maker->writer.data, format, EMBEDDING,
                           maker->vocabulary.tokens[i].likely ? likely : unlikely,
                           &random);
}

static void write_tensors(struct maker *maker)
{
    bool tied = maker->options.tied;
    write_token_rows(maker, "token_embd.weight", GGUF_TYPE_Q8_0,
                     tied ? HEAD_LIKELY_SPREAD : EMBEDDING_SPREAD,
                     tied ? HEAD_UNLIKELY_SPREAD : EMBEDDING_SPREAD);
    for (uint32_t layer = 0; layer < maker->options.layers_count; layer++)
        write_layer(maker, layer);
    write_norm(maker, "output_norm.weight");
    if (!tied)
        write_token_rows(maker, "output.weight", GGUF_TYPE_F16, HEAD_LIKELY_SPREAD,
                         HEAD_UNLIKELY_SPREAD);
}

/* Written beside and renamed, so that no test ever reads half a model. */
static bool write_file(const char *path, struct span bytes)
{
    char beside[4096];
    if (snprintf(beside, sizeof beside, "%s.part", path) >= (int)sizeof beside)
        return false;
    FILE *file = fopen(beside, "wb");
    bool good = file && fwrite(bytes.data, 1, bytes.size, file) == bytes.size;
    if (file)
        good &= fclose(file) == 0;
    good = good && rename(beside, path) == 0;
    if (!good)
        fprintf(stderr, "make_tiny_model: cannot write %s: %s\n", path, strerror(errno));
    return good;
}

static const struct option flags[] = {
    {"out", required_argument, NULL, 'o'},
    {"seed", required_argument, NULL, 's'},
    {"layers", required_argument, NULL, 'l'},
    {"context", required_argument, NULL, 'c'},
    {"spm", no_argument, NULL, 'p'},
    {"tied", no_argument, NULL, 't'},
    {"architecture", required_argument, NULL, 'a'},
    {0},
};

static const char usage[] =
    "usage: make_tiny_model --out FILE [--architecture llama] [--seed N] [--layers N]\n"
    "                       [--context N] [--spm] [--tied]\n";

/* A number from least to most; false when text is none. */
static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
           *value >= least && *value <= most;
}

static bool parse_option(struct options *options, int flag, const char *value)
{
    uint64_t number;
    bool good = true;
    switch (flag) {
    case 'o':
        options->out = value;
        break;
    case 's':
        return parse_number(value, 0, UINT64_MAX, &options->seed);
    case 'l':
        good = parse_number(value, 1, LAYERS_MAX, &number);
        options->layers_count = (uint32_t)number;
        break;
    case 'c':
        good = parse_number(value, 1, CONTEXT_MAX, &number);
        options->context_length = (uint32_t)number;
        break;
    case 'p':
        options->spm = true;
        break;
    case 't':
        options->tied = true;
        break;
    case 'a':
        return strcmp(value, "llama") == 0;
    default:
        return false;
    }
    return good;
}

static bool parse_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){.seed = 1, .layers_count = 3, .context_length = 512};
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;)
        if (!parse_option(options, flag, optarg))
            return false;
    return options->out && optind == argc;
}

int main(int argc, char **argv)
{
    static struct maker maker;
    struct buffer file;
    if (!parse_options(&maker.options, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if (maker.options.spm)
        tiny_vocabulary_spm(&maker.vocabulary);
    else
        tiny_vocabulary_bpe(&maker.vocabulary);
    gguf_writer_init(&maker.writer);
    write_metadata(&maker);
    write_tensors(&maker);
    buffer_init(&file, FILE_BYTES_MAX);
    gguf_writer_finish(&maker.writer, &file);
    INVARIANT(!file.failed);
    bool written = write_file(maker.options.out, buffer_span(&file));
    buffer_fini(&file);
    gguf_writer_fini(&maker.writer);
    return written ? 0 : 1;
}
