//! The names of colors, as theme files have them.

macro_rules! tokens {
    ($($variant:ident = $name:literal,)*) => {
        /// The name of a color.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // The names say it.
        pub enum Token { $($variant,)* }

        impl Token {
            /// All tokens.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Number of tokens.
            pub const COUNT: usize = Self::ALL.len();

            /// Returns the name in theme files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

tokens! {
    Accent = "accent",
    Border = "border",
    BorderAccent = "borderAccent",
    BorderMuted = "borderMuted",
    Success = "success",
    Error = "error",
    Warning = "warning",
    Muted = "muted",
    Dim = "dim",
    Text = "text",
    ThinkingText = "thinkingText",
    SelectedBg = "selectedBg",
    UserMessageBg = "userMessageBg",
    UserMessageText = "userMessageText",
    CustomMessageBg = "customMessageBg",
    CustomMessageText = "customMessageText",
    CustomMessageLabel = "customMessageLabel",
    ToolPendingBg = "toolPendingBg",
    ToolSuccessBg = "toolSuccessBg",
    ToolErrorBg = "toolErrorBg",
    ToolTitle = "toolTitle",
    ToolOutput = "toolOutput",
    MdHeading = "mdHeading",
    MdLink = "mdLink",
    MdLinkUrl = "mdLinkUrl",
    MdCode = "mdCode",
    MdCodeBlock = "mdCodeBlock",
    MdCodeBlockBorder = "mdCodeBlockBorder",
    MdQuote = "mdQuote",
    MdQuoteBorder = "mdQuoteBorder",
    MdHr = "mdHr",
    MdListBullet = "mdListBullet",
    ToolDiffAdded = "toolDiffAdded",
    ToolDiffRemoved = "toolDiffRemoved",
    ToolDiffContext = "toolDiffContext",
    SyntaxComment = "syntaxComment",
    SyntaxKeyword = "syntaxKeyword",
    SyntaxFunction = "syntaxFunction",
    SyntaxVariable = "syntaxVariable",
    SyntaxString = "syntaxString",
    SyntaxNumber = "syntaxNumber",
    SyntaxType = "syntaxType",
    SyntaxOperator = "syntaxOperator",
    SyntaxPunctuation = "syntaxPunctuation",
    ThinkingOff = "thinkingOff",
    ThinkingMinimal = "thinkingMinimal",
    ThinkingLow = "thinkingLow",
    ThinkingMedium = "thinkingMedium",
    ThinkingHigh = "thinkingHigh",
    ThinkingXhigh = "thinkingXhigh",
    ThinkingMax = "thinkingMax",
    BashMode = "bashMode",
    ScrollbarTrack = "scrollbarTrack",
    ScrollbarThumb = "scrollbarThumb",
    SearchMatchBg = "searchMatchBg",
    SearchMatchText = "searchMatchText",
}
