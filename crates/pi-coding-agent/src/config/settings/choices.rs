//! The settings that are a choice among words.

use pi_agent::QueueMode;
use schemars::JsonSchema;
use serde::Deserialize;

/// When prompt caches are kept alive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheWarming {
    /// Never.
    Off,
    /// While the agent works.
    #[default]
    Streaming,
    /// Between runs too.
    Idle,
}

/// How many queued messages are delivered at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueDelivery {
    /// All of them.
    All,
    /// The oldest one.
    #[default]
    OneAtATime,
}

/// What pressing escape twice does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DoubleEscapeAction {
    /// Shows the tree.
    #[default]
    Tree,
    /// Forks.
    Fork,
    /// Nothing.
    None,
}

/// What the tree of a session shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TreeFilter {
    /// What most people want.
    #[default]
    Default,
    /// No tool calls.
    NoTools,
    /// What the user said.
    UserOnly,
    /// What has a label.
    LabeledOnly,
    /// Everything.
    All,
}

/// Whether projects nobody decided about are trusted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProjectTrustDefault {
    /// The user is asked; where that is impossible, no.
    #[default]
    Ask,
    /// Yes.
    Always,
    /// No.
    Never,
}

/// How scripts and direct calls share the tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CodemodeMode {
    /// Both.
    #[default]
    On,
    /// Scripts alone.
    Only,
}

/// Where shared sessions go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ShareDestination {
    /// Where the user is logged in.
    #[default]
    Auto,
    /// A gist.
    Gist,
    /// Radius.
    Radius,
}

/// How the screen is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TuiMode {
    /// Through the terminal's own scrolling.
    Regular,
    /// All of it.
    #[default]
    Fullscreen,
}

/// What is left on the terminal afterwards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExitOutput {
    /// The conversation.
    #[default]
    Transcript,
    /// How to go on.
    ResumeHint,
}

/// When a scroll bar is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scrollbar {
    /// While scrolling.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Hidden,
}

/// When diagrams are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MermaidMode {
    /// Never.
    Off,
    /// When they are complete.
    Final,
    /// While they arrive.
    #[default]
    Streaming,
}

/// How to talk to providers that offer a choice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// Whatever is best.
    #[default]
    Auto,
    /// Server-sent events.
    Sse,
    /// A WebSocket per request.
    Websocket,
    /// A WebSocket that stays open.
    WebsocketCached,
}

/// How pictures are sent to the terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ImageProtocol {
    /// As kitty does.
    Kitty,
    /// As iTerm2 does.
    Iterm2,
    /// Whatever the terminal understands.
    #[default]
    Auto,
}

impl From<QueueDelivery> for QueueMode {
    fn from(delivery: QueueDelivery) -> Self {
        match delivery {
            QueueDelivery::All => Self::All,
            QueueDelivery::OneAtATime => Self::OneAtATime,
        }
    }
}

/// The word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Auto {
    /// As seems best.
    Auto,
}

/// The word `header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Header {
    /// The first lines.
    Header,
}

/// Something that the terminal can do or not, or that is found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or \"auto\"")]
pub enum Detection {
    /// The user knows.
    Known(bool),
    /// It is found out.
    Auto(Auto),
}

/// How pictures are sent to the terminal, if at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"kitty\", \"iterm2\", \"auto\" or false")]
pub enum TerminalImages {
    /// Like this.
    Protocol(ImageProtocol),
    /// `false`: not at all.
    Any(bool),
}

/// What is not shown at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or \"header\"")]
pub enum QuietStartup {
    /// Everything, or nothing.
    All(bool),
    /// All but the first lines.
    Header(Header),
}

/// Lines per step of the wheel.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number or \"auto\"")]
pub enum WheelLines {
    /// As many, 1 to 100.
    Lines(f64),
    /// As many as the terminal deserves.
    Auto(Auto),
}

/// A package of resources.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, or an object with \"source\"")]
pub enum PackageSource {
    /// All of it.
    Whole(String),
    /// Some of it.
    #[serde(rename_all = "camelCase")]
    Part {
        /// Where it is from.
        source: String,
        /// `false`: only what the patterns name.
        autoload: Option<bool>,
        /// Patterns of extensions.
        extensions: Option<Vec<String>>,
        /// Patterns of skills.
        skills: Option<Vec<String>>,
        /// Patterns of prompt templates.
        prompts: Option<Vec<String>>,
        /// Patterns of themes.
        themes: Option<Vec<String>>,
    },
}

/// The names of the thinking levels, for the schema.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[allow(dead_code)] // Nobody makes one.
pub(super) enum ThinkingLevelName {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}
