/* chat.h - checks a conversation and makes the context that a chat template renders.
 *
 * Layer:   frontend/core (pure; jansson).
 * Rules:   content is a string, null, absent, or an array of text parts, which are joined
 *          by newlines; it reaches the template as a string always, so that templates
 *          need not tell null from empty. A tool call's arguments, a JSON text on the
 *          wire, are parsed where they are an object, as templates expect. Other keys of
 *          a message pass unchanged.
 */
#ifndef ROPEWAY_FRONTEND_CORE_CHAT_H
#define ROPEWAY_FRONTEND_CORE_CHAT_H

#include "frontend/core/generation_request.h"

#define MESSAGES_MAX 4096 /* more turns than a context holds */

/* {"messages":…,"tools":…,"documents":…,"add_generation_prompt":…,"bos_token":…,
 * "eos_token":…, and chat_template_kwargs}: malloc'd text, or NULL when memory is out. */
char *chat_context(const struct generation_request *request, struct span bos_token,
                   struct span eos_token);

#endif
