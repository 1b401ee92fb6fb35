// Types of pi's extension API, of `pi/test` and of the parts of its packages that extensions use most.
// An editor reads them; pi itself does not.

declare module "@earendil-works/pi-coding-agent" {
	import type { Static, TSchema } from "typebox";

	export type TextContent = { type: "text"; text: string };
	export type ImageContent = { type: "image"; data: string; mimeType: string };
	export type Content = TextContent | ImageContent;
	export type Awaitable<T> = T | Promise<T>;

	export interface ToolResult<Details = unknown> {
		content: Content[];
		details?: Details;
		structuredContent?: unknown;
		isError?: boolean;
		terminate?: boolean;
	}

	export interface ToolDefinition<Schema extends TSchema = TSchema, Details = any> {
		name: string;
		label?: string;
		description: string;
		parameters: Schema;
		promptSnippet?: string;
		promptGuidelines?: string[];
		executionMode?: "parallel" | "sequential";
		exposure?: "direct" | "model-only" | "codemode" | "deferred" | "hidden";
		prepareArguments?(args: unknown): unknown;
		execute(
			toolCallId: string,
			params: Static<Schema>,
			signal: AbortSignal | undefined,
			onUpdate: ((partial: ToolResult<Details>) => void) | undefined,
			ctx: ToolContext,
		): Awaitable<ToolResult<Details>>;
		renderCall?(args: Static<Schema>, theme: Theme, context: any): Component;
		renderResult?(result: ToolResult<Details>, options: { expanded: boolean; isPartial: boolean }, theme: Theme, context: any): Component;
	}

	export interface Component {
		render(width: number): string[];
		handleInput?(data: string): void;
		invalidate?(): void;
	}

	export interface Theme {
		name: string;
		fg(color: string, text: string): string;
		bg(color: string, text: string): string;
		bold(text: string): string;
		italic(text: string): string;
		underline(text: string): string;
		strikethrough(text: string): string;
	}

	export type DialogOptions = { signal?: AbortSignal; timeout?: number };

	export interface ExtensionUI {
		select(title: string, options: string[], limits?: DialogOptions): Promise<string | undefined>;
		confirm(title: string, message: string, limits?: DialogOptions): Promise<boolean>;
		input(title: string, placeholder?: string, limits?: DialogOptions): Promise<string | undefined>;
		editor(title: string, prefill?: string): Promise<string | undefined>;
		notify(message: string, type?: "info" | "warning" | "error"): void;
		setStatus(key: string, text: string | undefined): void;
		setWidget(key: string, content: string[] | ((tui: any, theme: Theme) => Component) | undefined, options?: { placement?: "aboveEditor" | "belowEditor" }): void;
		setTitle(title: string): void;
		setEditorText(text: string): void;
		getEditorText(): string;
		pasteToEditor(text: string): void;
		custom<T>(factory: (tui: any, theme: Theme, keybindings: any, done: (result: T) => void) => Awaitable<Component>, options?: { overlay?: boolean; overlayOptions?: any; onHandle?: (handle: any) => void }): Promise<T | undefined>;
		setHeader(factory: ((tui: any, theme: Theme) => Component) | undefined): void;
		setFooter(factory: ((tui: any, theme: Theme, data: any) => Component) | undefined): void;
		setEditorComponent(factory: ((tui: any, theme: any, keybindings: any) => Component) | undefined): void;
		addAutocompleteProvider(factory: (current: any) => any): void;
		onTerminalInput(listener: (data: string) => unknown): () => void;
		setWorkingMessage(message?: string): void;
		setWorkingVisible(visible: boolean): void;
		setWorkingIndicator(options?: { frames?: string[]; intervalMs?: number }): void;
		setHiddenThinkingLabel(label?: string): void;
		readonly theme: Theme;
		getAllThemes(): { name: string; path?: string }[];
		getTheme(name: string): Theme | undefined;
		setTheme(theme: string | Theme): { success: boolean; error?: string };
		getToolsExpanded(): boolean;
		setToolsExpanded(expanded: boolean): void;
	}

	export interface ExtensionContext {
		readonly ui: ExtensionUI;
		readonly mode: "tui" | "rpc" | "json" | "print";
		readonly hasUI: boolean;
		readonly cwd: string;
		readonly sessionManager: any;
		readonly modelRegistry: any;
		readonly model: any;
		readonly thinkingLevel: string;
		readonly signal: AbortSignal | undefined;
		isIdle(): boolean;
		isProjectTrusted(): boolean;
		abort(): void;
		hasPendingMessages(): boolean;
		shutdown(): void;
		getContextUsage(): { tokens: number | null; contextWindow: number; percent: number | null } | undefined;
		compact(options?: { customInstructions?: string; onComplete?: (result: any) => void; onError?: (error: Error) => void }): void;
		getSystemPrompt(): string;
	}

	export interface ToolContext extends ExtensionContext {
		executeTool(name: string, args: unknown): Promise<{ toolCall: any; result: ToolResult; isError: boolean }>;
	}

	export interface CommandContext extends ExtensionContext {
		waitForIdle(): Promise<void>;
		newSession(options?: any): Promise<{ cancelled: boolean }>;
		fork(entryId: string, options?: any): Promise<{ cancelled: boolean }>;
		navigateTree(entryId: string, options?: any): Promise<{ cancelled: boolean }>;
		switchSession(path: string, options?: any): Promise<{ cancelled: boolean }>;
		reload(): Promise<void>;
	}

	export interface Events {
		session_start: [{ reason: "startup" | "reload" | "new" | "resume" | "fork"; previousSessionFile?: string }, void];
		session_shutdown: [{ reason: string; targetSessionFile?: string }, void];
		input: [{ text: string; images?: ImageContent[]; source: string }, { action: "continue" } | { action: "transform"; text: string; images?: ImageContent[] } | { action: "handled" } | void];
		before_agent_start: [{ prompt?: string; systemPrompt: string; systemPromptOptions: any }, { message?: any; systemPrompt?: string } | void];
		context: [{ messages: any[] }, { messages?: any[] } | void];
		tool_call: [{ toolName: string; toolCallId: string; input: Record<string, any> }, { block?: boolean; reason?: string; terminate?: boolean } | void];
		tool_result: [{ toolName: string; toolCallId: string; input: Record<string, any>; content: Content[]; details: any; isError: boolean }, Partial<ToolResult> | void];
		turn_end: [any, { entries?: any[]; continue?: boolean } | void];
		agent_end: [{ messages: any[] }, void];
		agent_settled: [{ aborted: boolean }, void];
	}

	export interface ExtensionAPI {
		on<Name extends keyof Events>(event: Name, handler: (event: Events[Name][0] & { type: Name }, ctx: ExtensionContext) => Awaitable<Events[Name][1]>): () => void;
		on(event: string, handler: (event: any, ctx: ExtensionContext) => any): () => void;
		registerTool<Schema extends TSchema, Details = any>(tool: ToolDefinition<Schema, Details>): void;
		registerCommand(name: string, command: { description?: string; getArgumentCompletions?: (prefix: string) => Awaitable<{ value: string; label: string; description?: string }[] | null>; handler: (args: string, ctx: CommandContext) => Awaitable<void> }): void;
		registerShortcut(key: string, shortcut: { description?: string; handler: (ctx: ExtensionContext) => Awaitable<void> }): void;
		registerFlag(name: string, flag: { type: "boolean" | "string"; default?: boolean | string; description?: string }): void;
		getFlag(name: string): boolean | string | undefined;
		registerMessageRenderer(customType: string, renderer: (message: any, options: { expanded: boolean }, theme: Theme) => Component | undefined): void;
		registerEntryRenderer(customType: string, renderer: (entry: any, options: { expanded: boolean }, theme: Theme) => Component | undefined): void;
		registerProvider(name: string, config: any): void;
		unregisterProvider(name: string): void;
		sendMessage(message: { customType: string; content: string | Content[]; display: boolean; details?: any }, options?: { triggerTurn?: boolean; deliverAs?: "steer" | "followUp" | "nextTurn" }): void;
		sendUserMessage(content: string | Content[], options?: { deliverAs?: "steer" | "followUp" }): void;
		appendEntry(customType: string, data?: unknown): void;
		setSessionName(name: string): void;
		getSessionName(): string | undefined;
		setLabel(entryId: string, label: string | undefined): void;
		exec(command: string, args?: string[], options?: { cwd?: string; signal?: AbortSignal; timeout?: number }): Promise<{ stdout: string; stderr: string; code: number; killed: boolean }>;
		getActiveTools(): string[];
		getAllTools(): any[];
		setActiveTools(names: string[]): void;
		getCommands(): any[];
		getSettings(): any;
		setModel(model: any): Promise<boolean>;
		getThinkingLevel(): string;
		setThinkingLevel(level: string): void;
		events: { emit(channel: string, data?: unknown): void; on(channel: string, handler: (data: any) => void): () => void };
	}
}

declare module "typebox" {
	export interface TSchema {
		[key: string]: any;
	}
	export type Static<T extends TSchema> = any;
	export const Type: any;
}

declare module "@earendil-works/pi-tui" {
	export const Text: any, Box: any, Container: any, Spacer: any, Markdown: any, Input: any, Editor: any, SelectList: any, SettingsList: any, Loader: any, Key: any;
	export function visibleWidth(text: string): number;
	export function truncateToWidth(text: string, width: number, ellipsis?: string): string;
	export function wrapTextWithAnsi(text: string, width: number): string[];
	export function matchesKey(data: string, key: string): boolean;
}

declare module "pi/test" {
	export type Reply = string | { text?: string; thinking?: string; toolCalls?: { name: string; arguments?: unknown }[]; error?: string };
	export interface TestSession {
		reply(reply: Reply): void;
		answer(answer: string | boolean | null): void;
		prompt(text: string): Promise<string>;
		stop(): Promise<void>;
		readonly messages: any[];
		readonly requests: any[][];
		readonly tools: string[];
		readonly commands: string[];
		readonly entries: any[];
		readonly shown: any[];
		readonly problems: string[];
		readonly directory: string;
	}
	export function test(name: string, run: () => void | Promise<void>): void;
	export function session(options?: { extensions?: string[]; files?: Record<string, string>; replies?: Reply[]; answers?: (string | boolean | null)[] }): Promise<TestSession>;
	export const assert: {
		ok(value: unknown, message?: string): void;
		equal(actual: unknown, expected: unknown, message?: string): void;
		match(actual: string, pattern: RegExp, message?: string): void;
		rejects(run: (() => Promise<unknown>) | Promise<unknown>, pattern?: RegExp): Promise<void>;
	};
}
