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
};

/** Names that exist in pi and fail here when they are called. */
const MISSING = `
	AgentSession AgentSessionRuntime ArminComponent AssistantMessageComponent BashExecutionComponent BorderedLoader
	BranchSummaryMessageComponent CompactionSummaryMessageComponent CredentialSynchronizationError CustomEditor CustomMessageComponent
	DefaultPackageManager DefaultResourceLoader DynamicBorder ExtensionEditorComponent ExtensionInputComponent ExtensionRunner
	ExtensionSelectorComponent FooterComponent InteractiveMode LoginDialogComponent ModelRegistry ModelRuntime ModelSelectorComponent
	OAuthSelectorComponent ProjectTrustStore RpcClient SessionManager SessionSelectorComponent SettingsManager
	SettingsSelectorComponent ShowImagesSelectorComponent SkillInvocationMessageComponent Theme ThemeSelectorComponent
	ThinkingSelectorComponent ToolExecutionComponent TreeSelectorComponent UserMessageComponent UserMessageSelectorComponent
	collectEntriesForBranchSummary compact convertToPng copyToClipboard createAgentSession createAgentSessionFromServices
	createAgentSessionRuntime createAgentSessionServices createCodemodeExtension createExtensionRuntime
	createLocalPowerShellOperations createMcpExtension createPowerShellTool createPowerShellToolDefinition createToolSearchExtension
	detectSupportedImageMimeTypeFromFile discoverAndLoadExtensions formatDimensionNote formatSkillsForPrompt generateBranchSummary
	generateDiffString generateSummary generateSummaryWithUsage generateUnifiedPatch getDocsPath getExamplesPath getMarkdownTheme
	getPackageDir getPowerShellConfig getReadmePath getSelectListTheme getSettingsListTheme hasTrustRequiringProjectResources
	highlightCode initTheme keyHint keyText loadProjectContextFiles loadSkills loadSkillsFromDir main migrateSessionEntries parseArgs
	prepareBranchEntries rawKeyHint readStoredCredential renderDiff resizeImage resolveCliModel resolveModelScopeWithDiagnostics
	runPrintMode runRpcMode truncateToVisualLines wrapRegisteredTool wrapRegisteredTools
`;

const words = (text) => text.trim().split(/\s+/);

for (const [module, names] of Object.entries(PARTS)) exportLazily(exports, module, words(names));
for (const name of words(MISSING)) exports[name] = missing(`pi-coding-agent.${name}`);
