"""The openai package works unchanged."""

import harness

harness.require("openai")

import openai


class OpenAI(harness.ServiceTest):
    options = ("--max-model-len", "256")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.openai = openai.OpenAI(base_url=f"http://127.0.0.1:{cls.service.port}/v1",
                                   api_key="none", max_retries=0, timeout=40)
        cls.model = cls.openai.models.list().data[0].id

    @classmethod
    def tearDownClass(cls):
        cls.openai.close()
        super().tearDownClass()

    def chat(self, **parameters):
        return self.openai.chat.completions.create(
            model=self.model, messages=[{"role": "user", "content": "hi"}], max_tokens=12,
            temperature=0, **parameters)

    def test_chat_streamed_and_not(self):
        whole = self.chat()
        self.assertEqual(whole.choices[0].message.role, "assistant")
        self.assertEqual(whole.usage.completion_tokens, 12)
        parts = list(self.chat(stream=True, stream_options={"include_usage": True}))
        text = "".join(part.choices[0].delta.content or "" for part in parts
                       if part.choices)
        self.assertEqual(text, whole.choices[0].message.content)
        self.assertEqual(parts[-1].usage.total_tokens, whole.usage.total_tokens)

    def test_completions_streamed_and_not(self):
        parameters = {"model": self.model, "prompt": "abc", "max_tokens": 12, "seed": 5,
                      "temperature": 1}
        whole = self.openai.completions.create(**parameters)
        parts = self.openai.completions.create(stream=True, **parameters)
        self.assertEqual("".join(part.choices[0].text for part in parts),
                         whole.choices[0].text)

    def test_engine_side_extras_pass_in_extra_body(self):
        self.assertEqual(self.chat(extra_body={"ignore_eos": True, "top_k": 1})
                         .choices[0].finish_reason, "length")

    def test_errors_have_the_packages_own_classes(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(top_p=7)
        self.assertEqual(caught.exception.param, "top_p")
        with self.assertRaises(openai.NotFoundError) as caught:
            self.openai.completions.create(model="another", prompt="abc")
        self.assertEqual(caught.exception.code, "model_not_found")

    def test_several_choices(self):
        reply = self.openai.completions.create(
            model=self.model, prompt=["ab", "cd"], n=2, max_tokens=4, seed=1)
        self.assertEqual([choice.index for choice in reply.choices], [0, 1, 2, 3])


if __name__ == "__main__":
    harness.main()
