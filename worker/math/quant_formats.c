#include "worker/math/quant_variant.h"

#include "common/gguf/gguf_type.h"

#define QUANT_TEXT_OF(name) #name
#define QUANT_TEXT(name)    QUANT_TEXT_OF(name)

static const struct quant_format formats[] = {
    {GGUF_TYPE_F32, QUANT_NAME(quant_f32)},   {GGUF_TYPE_F16, QUANT_NAME(quant_f16)},
    {GGUF_TYPE_BF16, QUANT_NAME(quant_bf16)}, {GGUF_TYPE_Q8_0, QUANT_NAME(quant_q8_0)},
    {GGUF_TYPE_Q4_0, QUANT_NAME(quant_q4_0)}, {GGUF_TYPE_Q4_1, QUANT_NAME(quant_q4_1)},
    {GGUF_TYPE_Q5_0, QUANT_NAME(quant_q5_0)}, {GGUF_TYPE_Q5_1, QUANT_NAME(quant_q5_1)},
    {GGUF_TYPE_Q2_K, QUANT_NAME(quant_q2_k)}, {GGUF_TYPE_Q3_K, QUANT_NAME(quant_q3_k)},
    {GGUF_TYPE_Q4_K, QUANT_NAME(quant_q4_k)}, {GGUF_TYPE_Q5_K, QUANT_NAME(quant_q5_k)},
    {GGUF_TYPE_Q6_K, QUANT_NAME(quant_q6_k)}, {0, NULL},
};

extern const struct quant_variant QUANT_NAME(quant_variant);
const struct quant_variant QUANT_NAME(quant_variant) = {QUANT_TEXT(QUANT_VARIANT),
                                                        formats};
