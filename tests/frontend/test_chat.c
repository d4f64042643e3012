/* What chat templates are given to render. */
#include "frontend/core/chat.h"

#include "frontend/core/json_body.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static const struct request_limits limits = {.model_name = "m", .vocabulary_count = 9};

static void check_context(const char *body, const char *wanted)
{
    struct generation_request request;
    struct fault fault;
    json_t *root;
    cr_assert_eq(json_body_parse(span_of(body), &root, &fault), STATUS_OK);
    cr_assert_eq(generation_request_read(&request, ANSWER_CHAT, root, &limits, &fault),
                 STATUS_OK, "%s", fault.sentence);
    char *context = chat_context(&request, SPAN_LITERAL("<b>"), SPAN_LITERAL("<e>"));
    cr_expect_str_eq(context, wanted);
    free(context);
    generation_request_fini(&request);
}

#define END "\"add_generation_prompt\":true,\"bos_token\":\"<b>\",\"eos_token\":\"<e>\"}"

Test(chat, messages_pass_in_their_order)
{
    check_context("{\"messages\":[{\"role\":\"system\",\"content\":\"S\",\"name\":\"x\"},"
                  "{\"role\":\"user\",\"content\":\"\"}]}",
                  "{\"messages\":[{\"role\":\"system\",\"content\":\"S\",\"name\":\"x\"},"
                  "{\"role\":\"user\",\"content\":\"\"}]," END);
}

Test(chat, text_parts_become_one_text)
{
    check_context("{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\","
                  "\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}]}",
                  "{\"messages\":[{\"role\":\"user\",\"content\":\"a\\nb\"}]," END);
}

#define CALL_IN                                                                          \
    "\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"a\\\":2}\"}}]"
#define CALL_OUT                                                                         \
    "\"tool_calls\":[{\"function\":{\"name\":\"add\",\"arguments\":{\"a\":2}}}]"

Test(chat, a_tool_call_without_content_renders_alike_in_all_three_forms)
{
    const char *wanted =
        "{\"messages\":[{\"role\":\"assistant\"," CALL_OUT ",\"content\":\"\"}]," END;
    check_context(
        "{\"messages\":[{\"role\":\"assistant\"," CALL_IN ",\"content\":null}]}", wanted);
    check_context("{\"messages\":[{\"role\":\"assistant\"," CALL_IN "}]}", wanted);
    check_context(
        "{\"messages\":[{\"role\":\"assistant\"," CALL_IN ",\"content\":\"\"}]}", wanted);
}

Test(chat, a_client_sets_variables_but_not_ours)
{
    check_context(
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],"
        "\"add_generation_prompt\":false,\"tools\":[],"
        "\"chat_template_kwargs\":{\"enable_thinking\":false,\"bos_token\":\"x\","
        "\"pad_token\":\"x\",\"messages\":[]}}",
        "{\"enable_thinking\":false,\"messages\":[{\"role\":\"user\",\"content\":"
        "\"a\"}],\"add_generation_prompt\":false,\"bos_token\":\"<b>\","
        "\"eos_token\":\"<e>\"}");
}
