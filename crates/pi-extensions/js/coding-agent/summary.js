// Summaries of conversations, for extensions that compact with a model of their own choice.

const { convertToLlm, serializeConversation } = require("pi:coding-agent/messages");

const ROLE = "You summarize conversations between a user and a coding agent. Reply with the summary only. Do not continue the conversation and do not answer questions in it.";

const FORM = `Write a summary with which another agent can continue the work. Use these headings:

## Goal
## Constraints and preferences
## Progress
### Done
### In progress
### Blocked
## Decisions
## Next steps
## Critical context

Keep exact file paths, function names and error messages.`;

const UPDATE = "The conversation continues the work of the earlier summary below. Update that summary: keep what is still true, and add what is new.";

/** Asks a model for a summary and returns its text and usage. */
async function generateSummaryWithUsage(
	messages, model, _reserveTokens, apiKey, headers, signal, customInstructions, previousSummary, thinkingLevel, streamFn, env,
) {
	const { streamSimple } = require("pi:ai/client");
	let prompt = `<conversation>\n${serializeConversation(convertToLlm(messages))}\n</conversation>\n\n`;
	if (previousSummary) prompt += `${UPDATE}\n\n<earlier-summary>\n${previousSummary}\n</earlier-summary>\n\n`;
	prompt += FORM;
	if (customInstructions) prompt += `\n\nAdditional focus: ${customInstructions}`;
	const context = { systemPrompt: ROLE, messages: [{ role: "user", content: [{ type: "text", text: prompt }], timestamp: Date.now() }] };
	const options = { apiKey, headers, signal, env };
	if (model.reasoning && thinkingLevel && thinkingLevel !== "off") options.reasoning = thinkingLevel;
	const stream = await (streamFn ?? streamSimple)(model, context, options);
	const response = await stream.result();
	if (response.stopReason === "aborted") throw new Error("Summarization aborted");
	if (response.stopReason === "error") throw new Error(`Summarization failed: ${response.errorMessage ?? "unknown error"}`);
	const text = response.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
	if (text.trim() === "") throw new Error("Summarization failed: the model returned no text");
	return { text, usage: response.usage };
}

const generateSummary = async (...args) => (await generateSummaryWithUsage(...args)).text;

/** Summarizes what a preparation selects. */
async function compact(preparation, model, apiKey, headers, customInstructions, signal, thinkingLevel, streamFn, env) {
	const { messagesToSummarize, turnPrefixMessages, previousSummary, firstKeptEntryId, tokensBefore, fileOps } = preparation;
	const messages = [...messagesToSummarize, ...(turnPrefixMessages ?? [])];
	const { text, usage } = await generateSummaryWithUsage(
		messages, model, undefined, apiKey, headers, signal, customInstructions, previousSummary, thinkingLevel, streamFn, env,
	);
	const modifiedFiles = [...new Set([...(fileOps?.edited ?? []), ...(fileOps?.written ?? [])])].sort();
	const readFiles = [...(fileOps?.read ?? [])].filter((path) => !modifiedFiles.includes(path)).sort();
	let summary = text;
	if (readFiles.length > 0) summary += `\n\n<read-files>\n${readFiles.join("\n")}\n</read-files>`;
	if (modifiedFiles.length > 0) summary += `\n\n<modified-files>\n${modifiedFiles.join("\n")}\n</modified-files>`;
	return { summary, firstKeptEntryId, tokensBefore, usage, details: { readFiles, modifiedFiles } };
}

module.exports = { generateSummary, generateSummaryWithUsage, compact };
