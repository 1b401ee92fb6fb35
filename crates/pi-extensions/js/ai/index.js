// `@earendil-works/pi-ai` and `/compat`: one list of names; the parts are loaded when they are used.

const { exportLazily } = require("pi:loader");
const { missing } = require("pi:missing");

const PARTS = {
	"pi:ai/events": `
		EventStream AssistantMessageEventStream createAssistantMessageEventStream
	`,
	"pi:ai/json": `
		parseStreamingJson repairJson parseJsonWithRepair parseToolCallArguments ToolCallArgumentsStream StreamingJsonParser
	`,
	"pi:ai/transcript": `
		contentText getSystemMessageText getInitialSystemMessage withoutInitialSystemMessage getCurrentSystemPrompt getCurrentTools
		getDeclaredTools createInitialSystemMessage getCurrentSystemMessage collapseSystemMessages normalizeContext toToolDeclaration
		declarationsEqual hasNonAdditiveToolChanges hasToolRedefinitions getToolStateChanges resolveTranscriptTools resolveTranscript
		renderSystemMessageUpdate
	`,
	"pi:ai/models": `
		getModel getModels getProviders calculateCost getSupportedThinkingLevels clampThinkingLevel getModelType ModelsError
		modelsAreEqual hasApi isModelType
	`,
	"pi:ai/messages": `
		validateToolArguments validateToolCall formatThrownValue extractDiagnosticError createAssistantMessageDiagnostic
		appendAssistantMessageDiagnostic fauxAssistantMessage fauxText fauxThinking fauxToolCall isContextOverflow
		isRetryableAssistantError isRecoverableLength
	`,
	"pi:ai/identity": `
		ANTHROPIC_API_KEY_ENV ANTHROPIC_AUTH_TOKEN_ENV ANTHROPIC_FEDERATION_RULE_ID_ENV ANTHROPIC_IDENTITY_TOKEN_FILE_ENV
		ANTHROPIC_OAUTH_TOKEN_ENV ANTHROPIC_ORGANIZATION_ID_ENV ANTHROPIC_SERVICE_ACCOUNT_ID_ENV ANTHROPIC_WORKSPACE_ID_ENV
		DEFAULT_MAX_AGENT_RETRY_DELAY_MS AI_TELEMETRY_SCHEMA PI_AI_VERSION PI_ATTRIBUTION InMemoryCredentialStore findEnvKeys getEnvApiKey
		uuidv7 formatUserAgent getClientVersion getIdentityHeaders
	`,
	"pi:ai/client": `
		getApiProvider getApiProviders registerApiProvider unregisterApiProviders stream streamSimple complete completeSimple
		registerBuiltInApiProviders resetApiProviders anthropicMessagesApi azureOpenAIResponsesApi bedrockConverseStreamApi
		googleGenerativeAIApi googleVertexApi mistralConversationsApi openAICodexResponsesApi openAICompletionsApi openAIResponsesApi
		piMessagesApi streamAnthropic streamAzureOpenAIResponses streamGoogle streamGoogleVertex streamMistral streamOpenAICodexResponses
		streamOpenAICompletions streamOpenAIResponses streamSimpleAnthropic streamSimpleAzureOpenAIResponses streamSimpleGoogle
		streamSimpleGoogleVertex streamSimpleMistral streamSimpleOpenAICodexResponses streamSimpleOpenAICompletions
		streamSimpleOpenAIResponses
	`,
};

/** Names that exist in pi and fail here when they are called. */
const MISSING = `
	InMemoryModelsStore cleanupSessionResources createFauxCore createModels createProvider defaultProviderAuthContext envApiKeyAuth
	fauxProvider generateImages generateImagesOpenRouter getAttributionHeaders getImageModel getImageModels getImageProviders
	getImagesApiProvider getOpenCodeSessionHeaders getOverflowPatterns lazyApi lazyOAuth lazyStream mergeClientIdentity
	registerBuiltInImagesApiProviders registerFauxProvider registerImagesApiProvider registerSessionResourceCleanup retryAssistantCall
	retryDelayMs setBedrockProviderModule withClientIdentity
`;

const words = (text) => text.trim().split(/\s+/);

/** A string that is one of several values, in the form that every provider accepts. */
exports.StringEnum = function StringEnum(values, options) {
	const schema = { type: "string", enum: values };
	if (options?.description) schema.description = options.description;
	if (options?.default) schema.default = options.default;
	return schema;
};

for (const [module, names] of Object.entries(PARTS)) exportLazily(exports, module, words(names));
exportLazily(exports, "typebox", ["Type"]);
for (const name of words(MISSING)) exports[name] = missing(`pi-ai.${name}`);
