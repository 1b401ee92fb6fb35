// Tools: their registration, and the `ctx` with which they run.

const native = require("native:session");
const { withSignal } = require("pi:signals");
const handles = require("pi:handles");

const EXPOSURES = ["direct", "model-only", "codemode", "deferred", "hidden"];

/** Registers a tool. */
exports.registerTool = function registerTool(binding, tool) {
	const { name, parameters } = tool;
	if (parameters === null || typeof parameters !== "object" || Array.isArray(parameters)) {
		throw new Error(`Tool "${name}" registered by extension "${binding.path}" must define an object parameter schema.`);
	}
	const { exposure, namespace } = tool;
	const number = handles.add({ binding, tool });
	try {
		native.registerTool(binding.id, number, {
			name: String(name),
			label: tool.label,
			description: tool.description,
			parameters,
			promptSnippet: tool.promptSnippet,
			promptGuidelines: tool.promptGuidelines,
			constrainedSampling: tool.constrainedSampling || undefined,
			executionMode: tool.executionMode,
			annotations: tool.annotations,
			outputSchema: tool.outputSchema,
			namespace: typeof namespace === "string" ? { name: namespace } : namespace,
			// No caller can reach a tool of an unknown exposure.
			exposure: exposure === undefined || EXPOSURES.includes(exposure) ? exposure : "hidden",
			defaultActive: tool.defaultActive,
			prepares: typeof tool.prepareArguments === "function",
		});
	} catch (error) {
		handles.release(number);
		throw error;
	}
	binding.tools.set(name, tool);
	if (tool.renderCall || tool.renderResult || tool.renderShell) {
		require("pi:renderers").register(binding, "tool", name, tool);
	}
};

/** Returns what `pi.getAllTools` returns. Functions come from the definitions of this thread. */
exports.getAllTools = function getAllTools(binding) {
	return require("native:session_tools").getAllTools(binding.id).map((tool) => {
		const { name, description, parameters, promptGuidelines, ...rest } = tool;
		const reachesTools = binding.tools.get(name)?.reachesTools;
		const info = { name, description, parameters, promptGuidelines, ...rest };
		return typeof reachesTools === "function" ? { ...info, reachesTools } : info;
	});
};

/** Functions that receive the progress of nested calls, by number. */
const updates = new Map();
let nextUpdate = 1;

exports.nestedUpdate = function nestedUpdate(number, partial) {
	updates.get(number)?.(partial);
};

/** Adds `tools` and `executeTool` to the context of a tool call. */
exports.addToolContext = function addToolContext(ctx, binding, callId, signal) {
	const natives = require("native:session_tools");
	let count = 0;
	async function executeTool(name, args, options = {}) {
		count += 1;
		const call = { type: "toolCall", id: `${callId}/${count}`, name: String(name), arguments: args ?? {} };
		const number = nextUpdate++;
		if (typeof options?.onUpdate === "function") updates.set(number, options.onUpdate);
		try {
			const nested = { id: call.id, parentId: callId, name: call.name, arguments: call.arguments };
			const work = natives.executeTool(binding.id, nested, number);
			const outcome = withSignal({ promise: withSignal(work, signal), cancel: work.cancel }, options?.signal);
			return { toolCall: call, ...(await outcome) };
		} catch (error) {
			const text = error instanceof Error ? error.message : String(error);
			return { toolCall: call, result: { content: [{ type: "text", text }], details: {} }, isError: true };
		} finally {
			updates.delete(number);
		}
	}
	const tools = () =>
		natives.getCallableTools(binding.id).map((tool) => ({
			...tool,
			outputSchema: binding.tools.get(tool.name)?.outputSchema,
			constrainedSampling: binding.tools.get(tool.name)?.constrainedSampling,
			prepareArguments: binding.tools.get(tool.name)?.prepareArguments,
			executionMode: binding.tools.get(tool.name)?.executionMode,
			async execute(_id, params, callSignal, onUpdate) {
				const { result, isError } = await executeTool(tool.name, params, { signal: callSignal, onUpdate });
				if (isError) throw new Error(result.content.map((block) => block.text ?? "").join("\n"));
				return result;
			},
		}));
	Object.defineProperty(ctx, "tools", { get: tools, configurable: true });
	Object.defineProperty(ctx, "executeTool", { value: executeTool, configurable: true, writable: true });
	return ctx;
};
