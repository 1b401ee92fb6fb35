//! Names of methods.

/// Starts a connection (legacy).
pub const INITIALIZE: &str = "initialize";
/// Ends the handshake (legacy).
pub const INITIALIZED: &str = "notifications/initialized";
/// Asks what a server is (modern).
pub const DISCOVER: &str = "server/discover";
/// Asks whether the other side is there (legacy).
pub const PING: &str = "ping";
/// Cancels a request.
pub const CANCELLED: &str = "notifications/cancelled";
/// Reports progress of a request.
pub const PROGRESS: &str = "notifications/progress";
/// Lists tools.
pub const TOOLS_LIST: &str = "tools/list";
/// Calls a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// The list of tools changed.
pub const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
/// Lists resources.
pub const RESOURCES_LIST: &str = "resources/list";
/// Lists templates of resources.
pub const RESOURCE_TEMPLATES_LIST: &str = "resources/templates/list";
/// Reads a resource.
pub const RESOURCES_READ: &str = "resources/read";
/// Subscribes to changes of a resource (legacy).
pub const RESOURCES_SUBSCRIBE: &str = "resources/subscribe";
/// Ends a subscription (legacy).
pub const RESOURCES_UNSUBSCRIBE: &str = "resources/unsubscribe";
/// The list of resources changed.
pub const RESOURCES_CHANGED: &str = "notifications/resources/list_changed";
/// A resource changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// Lists prompts.
pub const PROMPTS_LIST: &str = "prompts/list";
/// Fills in a prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// The list of prompts changed.
pub const PROMPTS_CHANGED: &str = "notifications/prompts/list_changed";
/// Completes an argument.
pub const COMPLETE: &str = "completion/complete";
/// Chooses the level of log messages (legacy).
pub const SET_LEVEL: &str = "logging/setLevel";
/// A log message of the server.
pub const MESSAGE: &str = "notifications/message";
/// Asks the client for its roots.
pub const ROOTS_LIST: &str = "roots/list";
/// Asks the client for an answer of a model.
pub const CREATE_MESSAGE: &str = "sampling/createMessage";
/// Asks the user.
pub const ELICIT: &str = "elicitation/create";
/// The purpose of an opened URL is fulfilled (legacy).
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// Asks for change notifications (modern).
pub const LISTEN: &str = "subscriptions/listen";
/// The first message of a subscription (modern).
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// Asks for the state of a task.
pub const TASKS_GET: &str = "tasks/get";
/// Asks for the result of a task (legacy).
pub const TASKS_RESULT: &str = "tasks/result";
/// Lists tasks (legacy).
pub const TASKS_LIST: &str = "tasks/list";
/// Sends answers to a task that waits for input (modern).
pub const TASKS_UPDATE: &str = "tasks/update";
/// Cancels a task.
pub const TASKS_CANCEL: &str = "tasks/cancel";
