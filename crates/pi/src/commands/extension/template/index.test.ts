// Tests of the extension: `pi extension test`. The model and the user are scripted.

import { assert, session, test } from "pi/test";

const extensions = [import.meta.resolve("./index.ts").replace("file://", "")];

test("the model can count words", async () => {
	const run = await session({
		extensions,
		replies: [{ toolCalls: [{ name: "count_words", arguments: { text: "one two three" } }] }, "There are three."],
	});
	assert.equal(await run.prompt("How many words?"), "There are three.");
	assert.match(JSON.stringify(run.messages), /3 words/);
	assert.equal(run.problems, []);
});

test("/hello greets", async () => {
	const run = await session({ extensions });
	await run.prompt("/hello Ada");
	assert.equal(run.shown, [{ kind: "notify", message: "Hello, Ada!", type: "info" }]);
});

test("a forced push needs a yes", async () => {
	const call = { toolCalls: [{ name: "bash", arguments: { command: "git push --force" } }] };
	const run = await session({ extensions, replies: [call, "I did not push."], answers: [false] });
	await run.prompt("Push it");
	assert.match(JSON.stringify(run.messages), /does not want a forced push/);
});
