"""What a request gives: streamed or not, with stops, counts, seeds, several choices."""

import random

import harness
from client import Answer
from tiny import SPM_MODEL, ids

TOKENS = 24
GREEDY = {"max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
SAMPLED = {"max_tokens": TOKENS, "temperature": 1.0, "ignore_eos": True}


class Streaming(harness.ServiceTest):
    options = ("--max-model-len", "256")

    def test_a_stream_gives_the_text_of_the_whole_answer(self):
        for seed in range(8):
            parameters = {**SAMPLED, "seed": seed}
            whole = self.client.complete(f"prompt {seed}", **parameters)
            parts = self.client.stream_completion(f"prompt {seed}", **parameters)
            self.assertEqual(parts.text, whole.text)
            self.assertEqual(parts.finish_reason, whole.json["choices"][0]["finish_reason"])

    def test_a_streamed_chat_gives_the_text_of_the_whole_answer(self):
        for seed in range(4):
            parameters = {**SAMPLED, "seed": seed}
            whole = self.client.chat(f"say {seed}", **parameters)
            parts = self.client.stream_chat(f"say {seed}", **parameters)
            self.assertEqual(parts.text, whole.text)
            self.assertEqual(parts.events[0]["object"], "chat.completion.chunk")
            self.assertEqual(parts.events[0]["choices"][0]["delta"]["role"], "assistant")
            self.assertEqual(whole.json["object"], "chat.completion")
            self.assertEqual(whole.json["choices"][0]["message"]["role"], "assistant")

    def test_events_of_a_stream_share_one_id(self):
        parts = self.client.stream_completion("abc", **GREEDY)
        self.assertEqual(len({event["id"] for event in parts.events}), 1)
        self.assertEqual({event["object"] for event in parts.events}, {"text_completion"})

    def test_usage_comes_only_where_it_was_asked_for(self):
        for options in ({}, {"stream_options": {}},
                        {"stream_options": {"include_usage": False}}):
            parts = self.client.stream_completion("abc", max_tokens=3, **options)
            for event in parts.events:
                self.assertIsNone(event.get("usage"))
                self.assertNotEqual(event["choices"], [])

    def test_usage_comes_once_and_last(self):
        parts = self.client.stream_completion(
            "abc", max_tokens=3, ignore_eos=True, stream_options={"include_usage": True})
        whole = self.client.complete("abc", max_tokens=3, ignore_eos=True)
        for event in parts.events[:-1]:
            self.assertIn("usage", event)
            self.assertIsNone(event["usage"])
        self.assertEqual(parts.events[-1]["choices"], [])
        for count in ("prompt_tokens", "completion_tokens", "total_tokens"):
            self.assertEqual(parts.usage[count], whole.json["usage"][count])
        self.assertEqual(parts.usage["completion_tokens"], 3)
        self.assertEqual(parts.usage["total_tokens"], parts.usage["prompt_tokens"] + 3)

    def test_each_choice_ends_once_with_its_reason(self):
        for choices in (1, 3):
            parts = self.client.stream_completion(
                "abc", n=choices, seed=3, stream_options={"include_usage": True}, **{
                    **SAMPLED, "max_tokens": 5})
            self.assertEqual(parts.finish_reasons,
                             {index: "length" for index in range(choices)})
            self.assertEqual(parts.usage["completion_tokens"], 5 * choices)


    def test_characters_cut_by_max_tokens_are_the_same_in_both_modes(self):
        """Hot sampling makes many broken characters; every length cuts some of them."""
        replaced = 0
        for count in range(1, TOKENS + 1):
            parameters = {"temperature": 2.0, "seed": count % 5, "ignore_eos": True,
                          "max_tokens": count, "logit_bias": {"200": 4, "150": 4}}
            whole = self.client.complete(ids(5), **parameters)
            self.assertEqual(whole.json["usage"]["completion_tokens"], count)
            parts = self.client.stream_completion(ids(5), **parameters)
            self.assertEqual(parts.text, whole.text)
            replaced += "\ufffd" in whole.text
        self.assertGreater(replaced, 0)

    def test_logprobs_are_the_same_in_both_modes(self):
        whole = self.client.complete("abc", **GREEDY, logprobs=3)
        parts = self.client.stream_completion("abc", **GREEDY, logprobs=3)
        wanted = whole.json["choices"][0]["logprobs"]
        for part in ("tokens", "token_logprobs", "top_logprobs"):
            self.assertEqual(len(wanted[part]), TOKENS)
            got = [row for event in parts.events for choice in event["choices"]
                   for row in (choice["logprobs"] or {part: []})[part]]
            self.assertEqual(got, wanted[part])
        for value, top in zip(wanted["token_logprobs"], wanted["top_logprobs"]):
            self.assertLessEqual(value, 0)
            self.assertAlmostEqual(value, max(top.values()))


class StreamingSpm(Streaming):
    model = SPM_MODEL


class Stops(harness.ServiceTest):
    options = ("--max-model-len", "256")

    def texts_by_count(self, prompt, parameters):
        """text[k]: what k tokens give, so that a test knows where tokens end."""
        return [""] + [self.client.completion(prompt, **{**parameters, "max_tokens": count})
                       for count in range(1, TOKENS + 1)]

    def check_stop(self, prompt, parameters, texts, stop):
        """Both modes end before the stop, and count the token that completed it."""
        whole_text = texts[TOKENS]
        wanted = whole_text[:whole_text.index(stop)]
        completing = next(count for count in range(TOKENS + 1) if stop in texts[count])
        reply = self.client.complete(prompt, stop=[stop], **parameters)
        self.assertEqual(reply.text, wanted, (stop, whole_text))
        self.assertEqual(reply.json["choices"][0]["finish_reason"], "stop")
        self.assertEqual(reply.json["usage"]["completion_tokens"], completing,
                         (stop, texts))
        parts = self.client.stream_completion(
            prompt, stop=stop, stream_options={"include_usage": True}, **parameters)
        self.assertEqual(parts.text, wanted)
        self.assertEqual(parts.finish_reason, "stop")
        self.assertEqual(parts.usage["completion_tokens"], completing)

    def stops_within(self, text, length, chance):
        """Plain ASCII pieces of text, which no cut-off character can touch."""
        places = [start for start in range(len(text) - length + 1)
                  if text[start:start + length].isascii()]
        return [text[start:start + length] for start in chance.sample(
            places, min(2, len(places)))]

    def test_stops_anywhere_in_tokens_and_across_them(self):
        chance = random.Random(5)
        tried = 0
        for seed in range(5):
            prompt, parameters = f"tell {seed}", {**SAMPLED, "seed": seed}
            texts = self.texts_by_count(prompt, parameters)
            for length in (1, 2, 5, 12):
                for stop in self.stops_within(texts[TOKENS], length, chance):
                    self.check_stop(prompt, parameters, texts, stop)
                    tried += 1
        self.assertGreater(tried, 10)

    def test_the_first_of_several_stops_wins(self):
        text = self.client.completion("abc", **GREEDY)
        pieces = [text[start:start + 3] for start in range(0, len(text) - 3, 3)
                  if text[start:start + 3].isascii()]
        self.assertGreaterEqual(len(pieces), 2, text)
        stops = [pieces[-1], pieces[0], "never in it at all"]
        first = min(text.index(stop) for stop in stops[:2])
        self.assertEqual(self.client.completion("abc", stop=stops, **GREEDY), text[:first])

    def test_a_stop_that_never_completes_loses_nothing(self):
        """Text held back as the possible beginning of a stop is given at the end."""
        text = self.client.completion("abc", **GREEDY)
        stop = text[-4:] + "and more"
        self.assertEqual(self.client.completion("abc", stop=stop, **GREEDY), text)
        parts = self.client.stream_completion("abc", stop=stop, **GREEDY)
        self.assertEqual(parts.text, text)
        self.assertEqual(parts.finish_reason, "length")

    def test_null_is_no_stop(self):
        self.assertEqual(self.client.completion("abc", stop=None, **GREEDY),
                         self.client.completion("abc", **GREEDY))


class StopsSpm(Stops):
    model = SPM_MODEL


class Prompts(harness.ServiceTest):
    options = ("--max-model-len", "256")

    def test_a_prompt_of_token_ids_is_one_prompt(self):
        reply = self.client.complete([10, 11, 12], **GREEDY)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(len(reply.json["choices"]), 1)
        self.assertEqual(reply.json["usage"]["prompt_tokens"], 3)

    def test_several_prompts_give_choices_in_their_order(self):
        alone = [self.client.completion(prompt, **GREEDY) for prompt in ("ab", "cd", "ef")]
        reply = self.client.complete(["ab", "cd", "ef"], **GREEDY)
        self.assertEqual([choice["index"] for choice in reply.json["choices"]], [0, 1, 2])
        self.assertEqual([choice["text"] for choice in reply.json["choices"]], alone)
        self.assertEqual(reply.json["usage"]["completion_tokens"], 3 * TOKENS)

    def test_several_prompts_of_ids(self):
        alone = [self.client.completion(prompt, **GREEDY) for prompt in ([20, 21], [22])]
        reply = self.client.complete([[20, 21], [22]], **GREEDY)
        self.assertEqual([choice["text"] for choice in reply.json["choices"]], alone)
        self.assertEqual(reply.json["usage"]["prompt_tokens"], 3)

    def test_choices_are_ordered_by_prompt_then_number(self):
        parameters = {**SAMPLED, "seed": 9, "n": 2}
        reply = self.client.complete(["ab", "cd"], **parameters)
        choices = reply.json["choices"]
        self.assertEqual([choice["index"] for choice in choices], [0, 1, 2, 3])
        alone = [choice["text"] for prompt in ("ab", "cd")
                 for choice in self.client.complete(prompt, **parameters).json["choices"]]
        self.assertEqual([choice["text"] for choice in choices], alone)
        parts = Answer(self.client.stream("/v1/completions",
                                          {"prompt": ["ab", "cd"], **parameters}))
        self.assertEqual([parts.texts[index] for index in range(4)], alone)

    def test_a_conversation_is_rendered_by_the_template(self):
        short = self.client.chat("hi", max_tokens=1).json["usage"]["prompt_tokens"]
        reply = self.client.post("/v1/chat/completions", {"max_tokens": 1, "messages": [
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "hi"}]})
        self.assertEqual(reply.status, 200, reply)
        self.assertGreater(reply.json["usage"]["prompt_tokens"], short)


    def test_content_never_becomes_a_control_token(self):
        """In a raw prompt the mark is one token; in a message it is just its letters."""
        mark = "<|im_end|>"
        self.assertEqual(self.client.complete(mark, max_tokens=1)
                         .json["usage"]["prompt_tokens"], 1)
        plain, marked = [self.client.chat(text, max_tokens=1).json["usage"]["prompt_tokens"]
                         for text in ("x", mark)]
        self.assertGreaterEqual(marked - plain, 5)


class Chance(harness.ServiceTest):
    options = ("--max-model-len", "256")

    def test_a_seed_repeats_and_others_differ(self):
        texts = {seed: self.client.completion("abc", **SAMPLED, seed=seed)
                 for seed in (0, 1, 2, 2**63 - 1)}
        for seed, text in texts.items():
            self.assertEqual(self.client.completion("abc", **SAMPLED, seed=seed), text)
        self.assertEqual(len(set(texts.values())), len(texts))

    def test_no_seed_is_a_new_one_each_time(self):
        texts = {self.client.completion("abc", **SAMPLED) for _ in range(4)}
        self.assertGreater(len(texts), 1)

    def test_choices_of_one_seed_differ_and_repeat(self):
        def draw():
            reply = self.client.complete("abc", n=4, seed=11, **SAMPLED)
            self.assertEqual(reply.json["usage"]["completion_tokens"], 4 * TOKENS)
            return [choice["text"] for choice in reply.json["choices"]]
        first = draw()
        self.assertEqual(len(set(first)), 4)
        self.assertEqual(draw(), first)
        self.assertEqual(self.client.completion("abc", seed=11, **SAMPLED), first[0])

    def test_every_way_to_be_greedy_is_the_same(self):
        """A tiny temperature must not overflow, and top-k 1 leaves one token."""
        greedy = self.client.completion("abc", **GREEDY)
        for parameters in ({"temperature": 1e-30}, {"temperature": 1e-7},
                           {"temperature": 4.9e-324}, {"temperature": -0.0},
                           {"temperature": 1.0, "top_k": 1}):
            self.assertEqual(self.client.completion("abc", **{**GREEDY, **parameters}),
                             greedy, parameters)

    def test_a_bias_forces_and_forbids_a_token(self):
        forced = self.client.complete("abc", **GREEDY, logit_bias={"65": 100})
        self.assertEqual(forced.status, 200, forced)
        other = self.client.complete("abc", **GREEDY, logit_bias={"66": 100})
        self.assertNotEqual(forced.text, other.text)
        hot = {**GREEDY, "max_tokens": 1, "temperature": 2.0}
        self.assertEqual(len({self.client.completion(
            "abc", **hot, logit_bias={"65": 100}, seed=seed) for seed in range(6)}), 1)

    def test_an_end_token_ends_with_stop(self):
        """Whatever the vocabulary calls its end, some seed of many draws it by itself;
        ignore_eos goes on to the last token instead."""
        reasons = set()
        for seed in range(60):
            reply = self.client.complete("abc", max_tokens=200, temperature=2.0, seed=seed)
            choice, usage = reply.json["choices"][0], reply.json["usage"]
            reasons.add(choice["finish_reason"])
            if choice["finish_reason"] == "stop":
                self.assertLess(usage["completion_tokens"], 201)
                full = self.client.complete("abc", max_tokens=200, temperature=2.0,
                                            seed=seed, ignore_eos=True)
                self.assertEqual(full.json["choices"][0]["finish_reason"], "length")
                self.assertEqual(full.json["usage"]["completion_tokens"], 200)
                self.assertTrue(full.text.startswith(choice["text"].rstrip("\ufffd")))
                return
        self.fail(f"no seed of 60 met the end token: {reasons}")


if __name__ == "__main__":
    harness.main()
