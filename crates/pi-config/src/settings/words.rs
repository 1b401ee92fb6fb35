//! Settings whose value is one of several words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text that is not a value of the setting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid value \"{given}\": expected {expected}")]
pub struct InvalidValue {
    pub(super) given: String,
    pub(super) expected: String,
}

/// Lists values: `a, b or c`.
pub(super) fn one_of(values: &[&str]) -> String {
    match values.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => values.concat(),
    }
}

/// Declares an enum of words.
macro_rules! words {
    ($($(#[$attribute:meta])* $name:ident {
        $($(#[$word_attribute:meta])* $variant:ident = $word:literal,)*
    })*) => {$(
        $(#[$attribute])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        pub enum $name {
            $($(#[$word_attribute])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The values as they are written in the settings.
            pub const VALUES: &[&str] = &[$($word),*];

            /// Returns the value as it is written in the settings.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::settings::InvalidValue;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::settings::InvalidValue {
                        given: text.to_owned(),
                        expected: $crate::settings::words::one_of(Self::VALUES),
                    }),
                }
            }
        }
    )*};
}
pub(super) use words;

words! {
    /// Trust in projects about which the user has not decided.
    #[derive(Default)]
    ProjectTrustDefault {
        /// The user is asked; without a UI the project is not trusted.
        #[default]
        Ask = "ask",
        /// The project is trusted.
        Always = "always",
        /// The project is not trusted.
        Never = "never",
    }

    /// The time during which the prompt cache of a provider is kept alive.
    #[derive(Default)]
    CacheWarmingMode {
        /// Never.
        Off = "off",
        /// While a run works.
        #[default]
        Streaming = "streaming",
        /// Also between runs.
        Idle = "idle",
    }

    /// How other tools are declared while `codemode` is active.
    #[derive(Default)]
    CodemodeMode {
        /// They stay declared, and their descriptions say how scripts call them.
        #[default]
        On = "on",
        /// They are hidden from the model, and `codemode` lists them.
        Only = "only",
    }

    /// The mode of the screen.
    #[derive(Default)]
    TuiMode {
        /// On the alternate screen, with its own scrolling.
        #[default]
        Fullscreen = "fullscreen",
        /// On the main screen, with the terminal's own scrollback.
        Regular = "regular",
    }

    /// The action of pressing escape twice.
    #[derive(Default)]
    DoubleEscape {
        /// Opens the session tree.
        #[default]
        Tree = "tree",
        /// Opens the list of messages to fork from.
        Fork = "fork",
        /// Does nothing.
        None = "none",
    }

    /// The entries that the session tree shows at first.
    #[derive(Default)]
    TreeFilter {
        /// Messages and results of tools.
        #[default]
        Default = "default",
        /// Messages only.
        NoTools = "no-tools",
        /// Messages of the user.
        UserOnly = "user-only",
        /// Entries with a label.
        LabeledOnly = "labeled-only",
        /// Everything.
        All = "all",
    }

    /// The output on the main screen after the full screen.
    #[derive(Default)]
    ExitOutput {
        /// The conversation.
        #[default]
        Transcript = "transcript",
        /// Only how to resume the session.
        ResumeHint = "resume-hint",
    }

    /// The visibility of the scroll bar.
    #[derive(Default)]
    ScrollbarMode {
        /// For a moment after scrolling.
        #[default]
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Hidden = "hidden",
    }

    /// The time at which Mermaid diagrams are drawn.
    #[derive(Default)]
    MermaidMode {
        /// Never: the source is shown.
        Off = "off",
        /// When the answer is complete.
        Final = "final",
        /// While the answer arrives.
        #[default]
        Streaming = "streaming",
    }

    /// The notification when pi waits for the user.
    #[derive(Default)]
    Notifications {
        /// None.
        #[default]
        Off = "off",
        /// The bell of the terminal.
        Bell = "bell",
        /// A notification of the desktop, as far as the terminal has them.
        Desktop = "desktop",
    }

    /// The protocol of images.
    ImageProtocol {
        /// That of the terminal kitty.
        Kitty = "kitty",
        /// That of the terminal iTerm2.
        Iterm2 = "iterm2",
        /// None: images are shown as text.
        None = "none",
    }

    /// The word `header`.
    HeaderWord {
        /// The header without the loaded resources.
        Header = "header",
    }

    /// The word `auto`.
    AutoWord {
        /// The value is detected.
        Auto = "auto",
    }
}

/// What is hidden at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or \"header\"")]
pub enum QuietStartup {
    /// Everything or nothing.
    All(bool),
    /// Everything but the header.
    Except(HeaderWord),
}

/// A feature of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or \"auto\"")]
pub enum FlagOrAuto {
    /// The feature is detected.
    Word(AutoWord),
    /// The terminal has the feature, or not.
    Flag(bool),
}

impl FlagOrAuto {
    /// The feature is detected.
    pub(super) const AUTO: Self = Self::Word(AutoWord::Auto);

    /// Returns the choice of the user; `None` if the feature is detected.
    pub fn flag(self) -> Option<bool> {
        match self {
            Self::Word(AutoWord::Auto) => None,
            Self::Flag(flag) => Some(flag),
        }
    }
}

/// The protocol of images, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"kitty\", \"iterm2\", \"auto\" or false")]
pub enum ImageChoice {
    /// The protocol is detected.
    Word(AutoWord),
    /// This protocol.
    Protocol(ImageProtocol),
    /// The protocol is detected, or there are no images.
    Flag(bool),
}

impl ImageChoice {
    /// Returns the protocol; `None` if it is detected.
    pub fn protocol(self) -> Option<ImageProtocol> {
        match self {
            Self::Word(AutoWord::Auto) | Self::Flag(true) => None,
            Self::Flag(false) => Some(ImageProtocol::None),
            Self::Protocol(protocol) => Some(protocol),
        }
    }
}

/// Lines per step of the mouse wheel, or `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"auto\" or a number of lines from 1")]
pub enum WheelLines {
    /// More lines while the wheel turns fast.
    Word(AutoWord),
    /// This number of lines.
    Lines(#[serde(deserialize_with = "super::number::lines")] usize),
}

impl WheelLines {
    /// Returns the number of lines; `None` for `auto`.
    pub fn lines(self) -> Option<usize> {
        match self {
            Self::Word(AutoWord::Auto) => None,
            Self::Lines(lines) => Some(lines),
        }
    }
}
