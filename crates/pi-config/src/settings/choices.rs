//! Settings whose value is one of several words.
//!
//! Types of other crates know nothing of settings files; the names of their values are here.

use pi_agent::{QueueMode, SteeringDelivery};
use pi_protocol::Transport;
use pi_tools::ChangedFilePolicy;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;

/// Trust in projects about which the user has not decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProjectTrustDefault {
    /// The user is asked; without a UI the project is not trusted.
    #[default]
    Ask,
    /// The project is trusted.
    Always,
    /// The project is not trusted.
    Never,
}

/// The time during which the prompt cache of a provider is kept alive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheWarmingMode {
    /// Never.
    Off,
    /// While a run works.
    #[default]
    Streaming,
    /// Also between runs.
    Idle,
}

/// A package of resources.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a string, or an object with \"source\"")]
#[allow(clippy::large_enum_variant)] // There are a handful, read once.
pub enum PackageSource {
    /// Everything in the package.
    Whole(String),
    /// The resources that the patterns select.
    #[serde(rename_all = "camelCase")]
    Part {
        /// Location of the package.
        source: String,
        /// `false` loads only the resources that the patterns select.
        autoload: Option<bool>,
        /// Patterns of extensions.
        extensions: Option<Vec<String>>,
        /// Patterns of skills.
        skills: Option<Vec<String>>,
        /// Patterns of prompt templates.
        prompts: Option<Vec<String>>,
        /// Patterns of themes.
        themes: Option<Vec<String>>,
        /// Rights of its extensions, which then have a runtime of their own. What is left out is
        /// not limited.
        #[schemars(with = "Option<PackageRights>")]
        rights: Option<Value>,
        /// `own` keeps its extensions apart from those of others.
        #[schemars(with = "Option<PackageRuntime>")]
        runtime: Option<Value>,
    },
}

/// The rights of a package in the schema. The host of extensions reads them, so that an error in
/// them concerns one package only.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // Only for the schema.
struct PackageRights {
    /// Patterns of files that may be read, besides those of the package.
    read: Option<PackageGrant>,
    /// Patterns of files that may be written.
    write: Option<PackageGrant>,
    /// Programs that may be started. A program has all your rights.
    run: Option<PackageGrant>,
    /// Hosts that may be reached.
    net: Option<PackageGrant>,
    /// Variables of the environment that are visible.
    env: Option<PackageGrant>,
}

/// One kind of rights.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // Only for the schema.
enum PackageGrant {
    /// Everything or nothing.
    All(bool),
    /// What is listed.
    Only(Vec<String>),
}

/// The runtime of the extensions of a package.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)] // Only for the schema.
enum PackageRuntime {
    /// A runtime for this package alone.
    Own,
}

/// Defines an enum with the names of the values of another type, and a function that reads a value
/// by its name.
macro_rules! named {
    ($case:literal $name:ident, $read:ident: $type:ty { $($(#[$doc:meta])* $variant:ident => $value:expr,)* }) => {
        #[derive(Deserialize, JsonSchema)]
        #[serde(rename_all = $case)]
        pub(super) enum $name {
            $($(#[$doc])* $variant,)*
        }

        pub(super) fn $read<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<$type>, D::Error> {
            let name = Option::<$name>::deserialize(deserializer)?;
            Ok(name.map(|name| match name {
                $($name::$variant => $value,)*
            }))
        }
    };
}

named! {
    "kebab-case" QueueModeName, queue_mode: QueueMode {
        /// All queued messages.
        All => QueueMode::All,
        /// Only the oldest message.
        OneAtATime => QueueMode::OneAtATime,
    }
}

named! {
    "camelCase" SteeringDeliveryName, steering_delivery: SteeringDelivery {
        /// After all tool calls of the turn.
        AfterTurn => SteeringDelivery::AfterTurn,
        /// After the tool call that is running; the remaining calls are skipped.
        AfterTool => SteeringDelivery::AfterTool,
    }
}

named! {
    "lowercase" ChangedFilesName, changed_files: ChangedFilePolicy {
        /// Writes the file and adds a note to the result.
        Warn => ChangedFilePolicy::Note,
        /// Refuses to write the file until the model has read it again.
        Refuse => ChangedFilePolicy::Refuse,
    }
}

named! {
    "kebab-case" TransportName, transport: Transport {
        /// A WebSocket that sends only what is new; server-sent events if that fails.
        Auto => Transport::Auto,
        /// HTTP with server-sent events.
        Sse => Transport::Sse,
        /// A WebSocket that sends every request whole.
        Websocket => Transport::Websocket,
        /// A WebSocket that sends only what is new.
        WebsocketCached => Transport::WebsocketCached,
    }
}

/// A thinking level.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)] // Never constructed.
pub(super) enum ThinkingLevelName {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}
