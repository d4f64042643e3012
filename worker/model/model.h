/* model.h - the weights of one model: where each lies, checked, and the model's numbers.
 *
 * Layer:   worker/model (needs common/gguf).
 * Memory:  matrices stay in the mapped file; norm weights and biases, which are short,
 *          are widened to fp32 here.
 * Checks:  architecture, rotation parameters, and for every tensor its presence, number
 *          of dimensions and exact lengths. The sentence names the tensor, what was found
 *          and what was expected.
 * Extras:  a tensor that the architecture's row does not name is not used. Such a file is
 *          served, since converters add tensors that change nothing, but the log warns
 *          with the tensor's name, since one may also change something.
 */
#ifndef ROPEWAY_WORKER_MODEL_MODEL_H
#define ROPEWAY_WORKER_MODEL_MODEL_H

#include "common/gguf/model_shape.h"
#include "worker/math/matmul.h"
#include "worker/model/architecture.h"

enum model_rotation { ROTATION_GLOBAL, ROTATION_LOCAL, ROTATIONS_COUNT };

/* Longest head: bounds what attention keeps on the stack. */
#define MODEL_KEY_LENGTH_MAX 512

struct layer {
    const float *attention_norm;
    struct matrix query, key, value;
    const float *query_bias, *key_bias, *value_bias; /* or NULL */
    const float *query_norm, *key_norm;              /* with head_norms */
    struct matrix attention_output;
    const float *attention_output_bias; /* or NULL */
    const float *attention_post_norm;   /* with post_norms */
    const float *feed_forward_norm;
    struct matrix gate, up, down;
    const float *feed_forward_post_norm; /* with post_norms */
    uint32_t window; /* positions seen, the own one included; 0: all */
    enum model_rotation rotation;
};

struct rotation {
    double magnitude;
    double frequencies[MODEL_KEY_LENGTH_MAX / 2];
};

struct model {
    struct gguf *gguf;
    const struct architecture *architecture;
    struct model_shape shape;
    float norm_epsilon;
    float attention_scale;
    float embedding_scale;
    float attention_softcap, logit_softcap; /* 0: none */
    uint32_t rotated_pairs_count;
    uint32_t rotations_count; /* 1, or 2 where local layers turn by another base */
    struct rotation rotations[ROTATIONS_COUNT];
    struct matrix embedding; /* [vocabulary] rows of embedding_length */
    struct matrix head;      /* the same where the file ties them */
    const float *output_norm;
    struct layer *layers; /* [shape.layers_count] */
    float *vectors;       /* all norms and biases */
};

enum status model_open(struct model *model, const char *path, struct fault *fault);
void model_close(struct model *model);

/* The longest row of any matrix. */
uint64_t model_inputs_max(const struct model *model);

/* Calls matmul_prepare for every matrix that multiplies; the number of matrices whose
 * tiles fail the slot test. */
uint32_t model_prepare(struct model *model, struct matmul *matmul);

/* model_tensors.c: finds and checks every tensor; part of model_open. */
enum status model_bind_tensors(struct model *model, struct fault *fault);

/* model_rotation.c: reads rotation bases and scalings; part of model_open. */
enum status model_read_rotations(struct model *model, struct fault *fault);

#endif
