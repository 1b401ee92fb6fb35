//! Settings of the screen whose value is one of several words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::number;

/// Defines an enum of words, the first of which is the default.
macro_rules! words {
    ($(#[$doc:meta])* $case:literal $name:ident {
        $(#[$first_doc:meta])* $first:ident = $first_word:literal,
        $($(#[$word_doc:meta])* $variant:ident = $word:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(rename_all = $case)]
        pub enum $name {
            $(#[$first_doc])* #[default] $first,
            $($(#[$word_doc])* $variant,)*
        }

        impl $name {
            /// Returns the word in the file.
            pub fn as_str(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

words! {
    /// The mode of the screen.
    "lowercase" TuiMode {
        /// On the alternate screen, with its own scrolling.
        Fullscreen = "fullscreen",
        /// On the main screen, with the terminal's own scrollback.
        Regular = "regular",
    }
}

words! {
    /// The action of pressing escape twice.
    "lowercase" DoubleEscape {
        /// Opens the session tree.
        Tree = "tree",
        /// Opens the list of messages to fork from.
        Fork = "fork",
        /// Does nothing.
        None = "none",
    }
}

words! {
    /// The entries that the session tree shows at first.
    "kebab-case" TreeFilter {
        /// Messages and results of tools.
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
}

words! {
    /// The output on the main screen after the full screen.
    "kebab-case" ExitOutput {
        /// The conversation.
        Transcript = "transcript",
        /// Only how to resume the session.
        ResumeHint = "resume-hint",
    }
}

words! {
    /// The visibility of the scroll bar.
    "lowercase" ScrollbarMode {
        /// For a moment after scrolling.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Hidden = "hidden",
    }
}

words! {
    /// The time at which Mermaid diagrams are drawn.
    "lowercase" MermaidMode {
        /// While the answer arrives.
        Streaming = "streaming",
        /// When the answer is complete.
        Final = "final",
        /// Never: the source is shown.
        Off = "off",
    }
}

words! {
    /// The notification when pi waits for the user.
    "lowercase" Notifications {
        /// None.
        Off = "off",
        /// The bell of the terminal.
        Bell = "bell",
        /// A notification of the desktop, as far as the terminal has them.
        Desktop = "desktop",
    }
}

words! {
    /// What is shown at the start.
    "lowercase" QuietStartup {
        /// The header and the loaded resources.
        No = "false",
        /// The header only.
        Header = "header",
        /// Nothing.
        Yes = "true",
    }
}

words! {
    /// The protocol of images.
    "lowercase" ImageProtocol {
        /// That of the terminal kitty.
        Kitty = "kitty",
        /// That of the terminal iTerm2.
        Iterm2 = "iterm2",
        /// None: images are shown as text.
        None = "none",
    }
}

/// The word `header`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum HeaderWord {
    Header,
}

/// The word `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AutoWord {
    Auto,
}

/// The value of `quietStartup`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or \"header\"")]
pub(super) enum QuietChoice {
    Flag(bool),
    Word(HeaderWord),
}

impl QuietChoice {
    pub(super) fn value(self) -> QuietStartup {
        match self {
            Self::Flag(false) => QuietStartup::No,
            Self::Flag(true) => QuietStartup::Yes,
            Self::Word(HeaderWord::Header) => QuietStartup::Header,
        }
    }
}

/// A value that is detected if it is `auto`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected true, false or \"auto\"")]
pub(super) enum Automatic<T> {
    Word(AutoWord),
    Value(T),
}

impl<T> Automatic<T> {
    pub(super) fn value(self) -> Option<T> {
        match self {
            Self::Word(AutoWord::Auto) => None,
            Self::Value(value) => Some(value),
        }
    }
}

/// The schema of a flag that may be `auto`.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[allow(dead_code)] // Never constructed.
pub(super) enum FlagOrAuto {
    Word(AutoWord),
    Value(bool),
}

/// The value of `terminal.images`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"kitty\", \"iterm2\", \"auto\" or false")]
pub(super) enum ImageChoice {
    Word(AutoWord),
    Protocol(ImageProtocol),
    Flag(bool),
}

impl ImageChoice {
    pub(super) fn value(self) -> Option<ImageProtocol> {
        match self {
            Self::Word(AutoWord::Auto) | Self::Flag(true) => None,
            Self::Flag(false) => Some(ImageProtocol::None),
            Self::Protocol(protocol) => Some(protocol),
        }
    }
}

/// The value of `fullscreenWheelScrollLines`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected \"auto\" or a number of lines from 1")]
pub(super) enum WheelChoice {
    Word(AutoWord),
    Lines(#[serde(deserialize_with = "number::lines")] u64),
}

impl WheelChoice {
    pub(super) fn lines(self) -> Option<usize> {
        match self {
            Self::Word(AutoWord::Auto) => None,
            Self::Lines(lines) => Some(usize::try_from(lines).unwrap_or(usize::MAX)),
        }
    }
}
