//! Keys of `_meta`.

/// The version of a request (modern).
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The name and version of the client (modern).
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The capabilities of the client (modern).
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The level of log messages of a request (modern).
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The name and version of the server, in results (modern).
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The subscription that a notification belongs to (modern).
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The task that a message belongs to (2025-11-25).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The token of progress notifications.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The name of the tasks extension (modern).
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
