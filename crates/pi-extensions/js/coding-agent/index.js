// `@earendil-works/pi-coding-agent`: the list of its names; the parts are loaded when they are used.

const { exportLazily } = require("pi:loader");
const { missing } = require("pi:missing");

const PARTS = {
	"pi:coding-agent/config": `
		VERSION CONFIG_DIR_NAME CURRENT_SESSION_VERSION VIRTUAL_MODEL_STATE_ENTRY getAgentDir getShellConfig createSyntheticSourceInfo
		createEventBus defineTool
	`,
	"pi:coding-agent/text": `
		DEFAULT_MAX_LINES DEFAULT_MAX_BYTES formatSize truncateHead truncateTail truncateLine formatReadLineRange parseFrontmatter
		stripFrontmatter getLanguageFromPath
	`,
	"pi:coding-agent/messages": `
		convertToLlm serializeConversation estimateTokens calculateContextTokens parseSkillBlock isBashToolResult isEditToolResult
		isFindToolResult isGrepToolResult isLsToolResult isPowerShellToolResult isReadToolResult isWriteToolResult isToolCallEventType
	`,
	"pi:coding-agent/entries": `
		parseSessionEntries sessionEntryToContextMessages getLatestCompactionEntry buildContextEntries buildSessionProjection
		buildSessionContext DEFAULT_COMPACTION_SETTINGS shouldCompact getLastAssistantUsage findTurnStartIndex findCutPoint
	`,
	"pi:coding-agent/tools": `
		createBashTool createBashToolDefinition createReadTool createReadToolDefinition createEditTool createEditToolDefinition
		createWriteTool createWriteToolDefinition createGrepTool createGrepToolDefinition createFindTool createFindToolDefinition
		createLsTool createLsToolDefinition createCodingTools createReadOnlyTools createLocalBashOperations withFileMutationQueue
	`,
	"pi:coding-agent/appearance": `
		Theme getMarkdownTheme getSelectListTheme getSettingsListTheme highlightCode initTheme keyHint keyText rawKeyHint renderDiff
	`,
	"pi:coding-agent/borders": `
		DynamicBorder BorderedLoader truncateToVisualLines
	`,
	"pi:coding-agent/transcript": `
		UserMessageComponent AssistantMessageComponent CustomMessageComponent BranchSummaryMessageComponent
		CompactionSummaryMessageComponent SkillInvocationMessageComponent
	`,
	"pi:coding-agent/tool-execution": `
		ToolExecutionComponent
	`,
	"pi:coding-agent/bash-execution": `
		BashExecutionComponent
	`,
	"pi:coding-agent/dialogs": `
		ExtensionSelectorComponent ExtensionInputComponent ExtensionEditorComponent
	`,
	"pi:coding-agent/custom-editor": `
		CustomEditor
	`,
	"pi:coding-agent/selectors": `
		ShowImagesSelectorComponent ThemeSelectorComponent ThinkingSelectorComponent UserMessageSelectorComponent
	`,
	"pi:coding-agent/session-store": `
		SessionManager
	`,
	"pi:coding-agent/settings-store": `
		SettingsManager
	`,
	"pi:coding-agent/diff": `
		generateDiffString generateUnifiedPatch
	`,
	"pi:coding-agent/summary": `
		generateSummary generateSummaryWithUsage compact
	`,
	"pi:coding-agent/clipboard": `
		copyToClipboard formatDimensionNote
	`,
};

/** Names that exist in pi and fail here when they are called. */
const MISSING = `
	AgentSession AgentSessionRuntime ArminComponent CredentialSynchronizationError DefaultPackageManager DefaultResourceLoader
	ExtensionRunner FooterComponent InteractiveMode LoginDialogComponent ModelRegistry ModelRuntime ModelSelectorComponent
	OAuthSelectorComponent ProjectTrustStore RpcClient SessionSelectorComponent SettingsSelectorComponent TreeSelectorComponent
	collectEntriesForBranchSummary convertToPng createAgentSession createAgentSessionFromServices createAgentSessionRuntime
	createAgentSessionServices createCodemodeExtension createExtensionRuntime createLocalPowerShellOperations createMcpExtension
	createPowerShellTool createPowerShellToolDefinition createToolSearchExtension detectSupportedImageMimeTypeFromFile
	discoverAndLoadExtensions formatSkillsForPrompt generateBranchSummary getDocsPath getExamplesPath getPackageDir
	getPowerShellConfig getReadmePath hasTrustRequiringProjectResources loadProjectContextFiles loadSkills loadSkillsFromDir main
	migrateSessionEntries parseArgs prepareBranchEntries readStoredCredential resizeImage resolveCliModel
	resolveModelScopeWithDiagnostics runPrintMode runRpcMode wrapRegisteredTool wrapRegisteredTools
`;

const words = (text) => text.trim().split(/\s+/);

for (const [module, names] of Object.entries(PARTS)) exportLazily(exports, module, words(names));
for (const name of words(MISSING)) exports[name] = missing(`pi-coding-agent.${name}`);
