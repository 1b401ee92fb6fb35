// NAME: an extension for pi. `pi -e .` tries it, `pi extension check` and `pi extension test` check it.

import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
	// A tool that the model can call.
	pi.registerTool({
		name: "count_words",
		label: "Count words",
		description: "Counts the words of a text",
		parameters: Type.Object({ text: Type.String({ description: "The text" }) }),
		async execute(_toolCallId, params) {
			const count = params.text.split(/\s+/).filter((word: string) => word !== "").length;
			return { content: [{ type: "text", text: `${count} words` }], details: { count } };
		},
	});

	// A command that the user can type.
	pi.registerCommand("hello", {
		description: "Say hello",
		handler: async (args, ctx) => {
			ctx.ui.notify(`Hello, ${args || "you"}!`, "info");
		},
	});

	// A decision about every tool call.
	pi.on("tool_call", async (event, ctx) => {
		if (event.toolName !== "bash" || !String(event.input.command).includes("git push --force")) return;
		if (!ctx.hasUI) return { block: true, reason: "No one is here to allow a forced push." };
		const allowed = await ctx.ui.confirm("Forced push", "Allow it?");
		if (!allowed) return { block: true, reason: "The user does not want a forced push." };
	});
}
