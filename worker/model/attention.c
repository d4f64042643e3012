#include "worker/model/attention.h"
#include "worker/math/scalar.h"
#include "worker/math/vector.h"
#include "worker/model/model.h"

/* One call's work: rows x query heads of one key head. */
struct task {
    const struct attention_parameters *parameters;
    const struct kv_view *view;
    uint32_t kv_head;
    uint32_t position; /* of the first row */
    uint32_t rows_count;
    uint32_t heads_count; /* query heads that share the key head */
    float *scores;        /* [row][head][score_stride], from the row's first position */
    float *sums;          /* [row][head]: of the weights */
    float *group;         /* [row][head][key_length]: the group in hand */
    uint32_t score_stride;
};

static uint32_t shared_heads(const struct attention_parameters *parameters)
{
    return parameters->query_heads_count / parameters->kv_heads_count;
}

size_t attention_scratch_floats(const struct attention_parameters *parameters,
                                uint32_t context_length)
{
    size_t pairs = (size_t)ATTENTION_ROWS_MAX * shared_heads(parameters);
    return pairs * (context_length + 1 + parameters->key_length);
}

/* The first position that the row at position sees. */
static uint32_t first_seen(const struct attention_parameters *parameters,
                           uint32_t position)
{
    uint32_t window = parameters->window;
    return window != 0 && position >= window ? position - window + 1 : 0;
}

static float *scores_of(const struct task *task, uint32_t row, uint32_t head)
{
    return task->scores + (size_t)(row * task->heads_count + head) * task->score_stride;
}

static uint64_t row_floats(const struct task *task)
{
    return (uint64_t)task->parameters->query_heads_count * task->parameters->key_length;
}

/* Where row's head lies within queries or out. */
static uint64_t head_offset(const struct task *task, uint32_t row, uint32_t head)
{
    return row * row_floats(task) + ((uint64_t)task->kv_head * task->heads_count + head) *
                                        task->parameters->key_length;
}

static bool sees(const struct task *task, uint32_t row, uint32_t position)
{
    uint32_t own = task->position + row;
    return position <= own && position >= first_seen(task->parameters, own);
}

static void score_position(const struct task *task, const float *queries,
                           uint32_t position)
{
    const struct attention_parameters *parameters = task->parameters;
    float widened[MODEL_KEY_LENGTH_MAX];
    const float *key =
        kv_read(task->view, parameters->layer, KV_KEYS, position, task->kv_head, widened);
    for (uint32_t row = 0; row < task->rows_count; row++) {
        if (!sees(task, row, position))
            continue;
        uint32_t place = position - first_seen(parameters, task->position + row);
        for (uint32_t head = 0; head < task->heads_count; head++)
            scores_of(task, row, head)[place] =
                vector_dot(queries + head_offset(task, row, head), key,
                           parameters->key_length) *
                parameters->scale;
    }
}

/* Scores to weights; their sums are divided out at the end. */
static void weigh(const struct task *task)
{
    for (uint32_t row = 0; row < task->rows_count; row++) {
        uint32_t own = task->position + row;
        uint32_t count = own - first_seen(task->parameters, own) + 1;
        for (uint32_t head = 0; head < task->heads_count; head++) {
            float *scores = scores_of(task, row, head);
            if (task->parameters->softcap != 0.0f)
                vector_softcap(scores, task->parameters->softcap, count);
            task->sums[row * task->heads_count + head] =
                vector_exp_sum(scores, count, vector_most(scores, count));
        }
    }
}

static void gather_position(const struct task *task, uint32_t position)
{
    const struct attention_parameters *parameters = task->parameters;
    float widened[MODEL_KEY_LENGTH_MAX];
    const float *value = kv_read(task->view, parameters->layer, KV_VALUES, position,
                                 task->kv_head, widened);
    for (uint32_t row = 0; row < task->rows_count; row++) {
        if (!sees(task, row, position))
            continue;
        uint32_t place = position - first_seen(parameters, task->position + row);
        for (uint32_t head = 0; head < task->heads_count; head++)
            vector_add_scaled(task->group + (size_t)(row * task->heads_count + head) *
                                                parameters->key_length,
                              value, scores_of(task, row, head)[place],
                              parameters->key_length);
    }
}

/* Adds each row's group to its result. A row that sees nothing of the group adds zeros:
 * rows that share a call see the same bits as alone, since x + 0 is x, but for -0 + 0,
 * which is why a result begins as +0 and never is -0 here. */
static void close_group(const struct task *task, float *out)
{
    uint32_t length = task->parameters->key_length;
    for (uint32_t row = 0; row < task->rows_count; row++)
        for (uint32_t head = 0; head < task->heads_count; head++) {
            float *group =
                task->group + (size_t)(row * task->heads_count + head) * length;
            vector_add(out + head_offset(task, row, head), group, length);
            memset(group, 0, length * sizeof *group);
        }
}

static void clear(const struct task *task, float *out)
{
    uint32_t length = task->parameters->key_length;
    for (uint32_t row = 0; row < task->rows_count; row++)
        memset(out + head_offset(task, row, 0), 0,
               task->heads_count * length * sizeof *out);
    memset(task->group, 0,
           (size_t)task->rows_count * task->heads_count * length * sizeof *task->group);
}

static void divide(const struct task *task, float *out)
{
    uint32_t length = task->parameters->key_length;
    for (uint32_t row = 0; row < task->rows_count; row++)
        for (uint32_t head = 0; head < task->heads_count; head++) {
            float *result = out + head_offset(task, row, head);
            float sum = task->sums[row * task->heads_count + head];
            for (uint32_t i = 0; i < length; i++)
                result[i] /= sum;
        }
}

void attention_run(const struct attention_parameters *parameters,
                   const struct kv_view *view, uint32_t kv_head_index, uint32_t position,
                   uint32_t rows_count, const float *queries, float *out, float *scratch,
                   uint32_t context_length)
{
    uint32_t heads = shared_heads(parameters);
    size_t pairs = (size_t)ATTENTION_ROWS_MAX * heads;
    struct task task = {.parameters = parameters,
                        .view = view,
                        .kv_head = kv_head_index,
                        .position = position,
                        .rows_count = rows_count,
                        .heads_count = heads,
                        .scores = scratch,
                        .score_stride = context_length};
    task.sums = scratch + pairs * context_length;
    task.group = task.sums + pairs;
    uint32_t first = first_seen(parameters, position);
    uint32_t end = position + rows_count;
    for (uint32_t t = first; t < end; t++)
        score_position(&task, queries, t);
    weigh(&task);
    clear(&task, out);
    for (uint32_t t = first; t < end; t++) {
        gather_position(&task, t);
        if ((t + 1) % ATTENTION_GROUP == 0 || t + 1 == end)
            close_group(&task, out);
    }
    divide(&task, out);
}
