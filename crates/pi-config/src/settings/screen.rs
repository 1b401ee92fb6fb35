//! The settings of the screen.

use serde::Deserialize;
use serde::de::Deserializer;

use super::keys::settings;
use super::number;
use super::words::{
    AutoWord, DoubleEscape, ExitOutput, FlagOrAuto, ImageChoice, MermaidMode, Notifications,
    QuietStartup, ScrollbarMode, TreeFilter, TuiMode, WheelLines,
};

settings! {
    /// The settings of the screen in force.
    pub struct ScreenSettings {
        /// Shows one line in place of the model's thinking.
        "hideThinkingBlock" hide_thinking: bool = false, label(19, "Hide thinking");
        /// Shows a line if the provider's prompt cache missed, with the reason.
        ///
        /// `--verbose` always reports misses.
        "showCacheMissNotices" cache_misses: bool = false, label(21, "Cache miss notices");
        /// Program that edits long prompts. By default, `$VISUAL`, `$EDITOR` or nano.
        #[serde(deserialize_with = "text")]
        "externalEditor" external_editor: Option<String> = None, user_only();
        /// Shell command that publishes a page for `/share`: it gets the file as its argument and
        /// prints the address in its last line.
        #[serde(deserialize_with = "text")]
        "shareCommand" share_command: Option<String> = None, user_only();
        /// What pressing escape twice in an empty editor opens.
        "doubleEscapeAction" double_escape: DoubleEscape = DoubleEscape::Tree,
            label(26, "Double-escape action");
        /// Entries that the session tree shows at first.
        "treeFilterMode" tree_filter: TreeFilter = TreeFilter::Default,
            label(27, "Tree filter mode");
        /// Colors of the screen.
        ///
        /// The name of a theme, or `LIGHT/DARK` with two names to follow the terminal.
        "theme" theme: String = "system".to_owned(), label(35, "Theme");
        /// Theme files and directories.
        "themes" themes: Option<Vec<String>> = None;
        /// Leaves out what is printed at the start; `header` leaves the header.
        "quietStartup" quiet_startup: QuietStartup = QuietStartup::All(false),
            label(23, "Quiet startup"), values(&["true", "header", "false"]);
        /// Writes into the terminal's scrollback, or takes the whole screen and scrolls itself.
        "tuiMode" mode: TuiMode = TuiMode::Fullscreen, label(30, "TUI mode");
        /// What the full screen leaves in the terminal: the conversation, or how to resume it.
        "fullscreenExitOutput" exit_output: ExitOutput = ExitOutput::Transcript,
            label(31, "Fullscreen exit output");
        /// Shows the scroll bar after scrolling, always, or never.
        "fullscreenScrollbar" scrollbar: ScrollbarMode = ScrollbarMode::Auto,
            label(32, "Fullscreen scrollbar");
        /// Copies text as soon as it is selected with the mouse.
        "fullscreenCopyOnSelect" copy_on_select: bool = true,
            label(33, "Fullscreen copy on select");
        /// Lines per step of the mouse wheel; `auto` is faster while the wheel turns fast.
        "fullscreenWheelScrollLines" wheel_lines: WheelLines = WheelLines::Word(AutoWord::Auto),
            label(34, "Fullscreen wheel scrolling"), values(&["auto", "1", "2", "3", "5", "10"]);
        /// Columns left and right of the text in the editor.
        ///
        /// From 0 to 3.
        #[serde(deserialize_with = "number::within::<0, 3, _>")]
        #[schemars(range(max = 3))]
        "editorPaddingX" editor_padding: usize = 0,
            label(8, "Editor padding"), values(&["0", "1", "2", "3"]);
        /// Columns left and right of the conversation.
        ///
        /// 0 or 1.
        #[serde(deserialize_with = "number::within::<0, 1, _>")]
        #[schemars(range(max = 1))]
        "outputPad" output_pad: usize = 1, label(9, "Output padding"), values(&["0", "1"]);
        /// Rows of the menu of completions.
        ///
        /// From 3 to 20.
        #[serde(deserialize_with = "number::within::<3, 20, _>")]
        #[schemars(range(min = 3, max = 20))]
        "autocompleteMaxVisible" menu_rows: usize = 5,
            label(10, "Autocomplete max items"), values(&["3", "5", "7", "10", "15", "20"]);
        /// Shows the cursor of the terminal instead of a drawn one. Input methods need it.
        ///
        /// `PI_HARDWARE_CURSOR` takes precedence.
        "showHardwareCursor" hardware_cursor: bool = false, label(7, "Show hardware cursor");
        /// The terminal.
        "terminal" terminal: TerminalSettings = TerminalSettings::default(),
            group(TerminalSettings::KEYS);
        /// Rendering of Markdown.
        "markdown" markdown: MarkdownSettings = MarkdownSettings::default(),
            group(MarkdownSettings::KEYS);
        /// Shows one line about an update instead of all changes.
        "collapseChangelog" collapse_changelog: bool = false, label(22, "Collapse changelog");
        /// Version of the changes that were shown last.
        #[serde(deserialize_with = "text")]
        "lastChangelogVersion" last_changelog_version: Option<String> = None;
        /// Edits prompts with the keys of vim.
        "vimMode" vim: bool = false, label(36, "Vim mode");
        /// The key that empties the editor (ctrl+c) stops what is running first; `false`: only escape
        /// does.
        "clearKeyInterrupts" clear_interrupts: bool = true, label(40, "Clear key interrupts");
        /// Keeps what you send for the next sessions: `history.jsonl` beside the settings.
        "promptHistory" prompt_history: bool = true, label(41, "Prompt history");
        /// Tells you when pi waits for you and another window is in front.
        ///
        /// With nothing, the bell, or a notification of the desktop.
        "notifications" notify: Notifications = Notifications::Off, label(37, "Notifications");
        /// Writes lines once and in order, for screen readers. Used at the next start.
        "accessible" accessible: bool = false, label(39, "Accessible output");
    }
}

settings! {
    /// The terminal.
    pub struct TerminalSettings {
        /// Draws images in the terminal.
        "showImages" show_images: bool = true, label(2, "Show images");
        /// Columns that an image may take.
        #[serde(deserialize_with = "number::within::<1, 400, _>")]
        #[schemars(range(min = 1))]
        "imageWidthCells" image_width: usize = 60,
            label(3, "Image width"), values(&["60", "80", "120"]);
        /// No effect in this version: what shrinks is always cleared.
        "clearOnShrink" clear_on_shrink: Option<bool> = None,
            label(11, "Clear on shrink"), values(&["false", "true"]);
        /// Shows in the tab or the task bar of the terminal that pi works.
        "showTerminalProgress" show_progress: bool = false, label(12, "Terminal progress");
        /// Uses the mouse in the full screen. Without it, the terminal selects text itself.
        "mouse" mouse: bool = true, label(38, "Mouse");
        /// The terminal has links. `PI_HYPERLINKS` takes precedence.
        "hyperlinks" hyperlinks: FlagOrAuto = FlagOrAuto::AUTO;
        /// Protocol of images: `kitty`, `iterm2`, `false`, or `"auto"`. `PI_IMAGE_PROTOCOL` takes
        /// precedence.
        "images" images: ImageChoice = ImageChoice::Word(AutoWord::Auto);
        /// The terminal has 16 million colors. `PI_TRUE_COLOR` takes precedence.
        "trueColor" true_color: FlagOrAuto = FlagOrAuto::AUTO;
    }
}

settings! {
    /// Rendering of Markdown.
    pub struct MarkdownSettings {
        /// Indentation of code.
        "codeBlockIndent" code_indent: String = "  ".to_owned();
        /// Draws diagrams: never, when the answer is complete, or while it arrives.
        "mermaid" mermaid: MermaidMode = MermaidMode::Streaming, label(20, "Mermaid diagrams");
    }
}

/// Reads a text. A blank one counts as absent.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}
