//! The settings of the screen: what the files may contain, and the values in force.

mod choices;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Settings, number};
use choices::{Automatic, ImageChoice, QuietChoice, WheelChoice};
pub use choices::{
    DoubleEscape, ExitOutput, ImageProtocol, MermaidMode, Notifications, QuietStartup,
    ScrollbarMode, TreeFilter, TuiMode,
};

/// The keys of the screen. They stand beside the others in the file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ScreenKeys {
    /// Hides the thinking of the model.
    pub(crate) hide_thinking_block: Option<bool>,
    /// Shows a line for each miss of the prompt cache, with the reason. `--verbose` always reports
    /// misses.
    pub(crate) show_cache_miss_notices: Option<bool>,
    /// Program that edits long prompts. Default: `$VISUAL`, `$EDITOR` or nano. Only in the user's
    /// file.
    pub(crate) external_editor: Option<String>,
    /// Shell command that publishes a page for `/share`: it gets the file as its argument and prints
    /// the address in its last line. Only in the user's file.
    pub(crate) share_command: Option<String>,
    /// Action of pressing escape twice in an empty editor.
    pub(crate) double_escape_action: Option<DoubleEscape>,
    /// Initial filter of the session tree.
    pub(crate) tree_filter_mode: Option<TreeFilter>,
    /// Color theme: a name, or `LIGHT/DARK` with two names to follow the terminal. Default:
    /// `system`.
    pub(crate) theme: Option<String>,
    /// Theme files and directories.
    pub(crate) themes: Option<Vec<String>>,
    /// Hides the startup output; `"header"` leaves the header.
    quiet_startup: Option<QuietChoice>,
    /// Mode of the screen: on the main screen with the terminal's scrollback, or on the alternate
    /// screen.
    pub(crate) tui_mode: Option<TuiMode>,
    /// Output on the main screen after the full screen.
    pub(crate) fullscreen_exit_output: Option<ExitOutput>,
    /// Visibility of the scroll bar.
    pub(crate) fullscreen_scrollbar: Option<ScrollbarMode>,
    /// Copies text when it is selected with the mouse.
    pub(crate) fullscreen_copy_on_select: Option<bool>,
    /// Lines per step of the mouse wheel, or `"auto"`.
    fullscreen_wheel_scroll_lines: Option<WheelChoice>,
    /// Columns beside the editor, 0 to 3.
    #[serde(deserialize_with = "number::whole")]
    #[schemars(range(max = 3))]
    editor_padding_x: Option<u64>,
    /// Columns beside the transcript, 0 or 1.
    #[serde(deserialize_with = "number::whole")]
    #[schemars(range(max = 1))]
    output_pad: Option<u64>,
    /// Completions shown at once, 3 to 20.
    #[serde(deserialize_with = "number::whole")]
    #[schemars(range(min = 3, max = 20))]
    autocomplete_max_visible: Option<u64>,
    /// Shows the cursor of the terminal. `PI_HARDWARE_CURSOR` takes precedence.
    pub(crate) show_hardware_cursor: Option<bool>,
    /// The terminal.
    terminal: Option<TerminalGroup>,
    /// Rendering of Markdown.
    markdown: Option<MarkdownGroup>,
    /// Shortens the list of changes after an update.
    pub(crate) collapse_changelog: Option<bool>,
    /// Version of the changes that were shown last.
    pub(crate) last_changelog_version: Option<String>,
    /// Edits prompts with the keys of vim.
    pub(crate) vim_mode: Option<bool>,
    /// Notification when pi waits for the user and the terminal is not in front: none, the bell,
    /// or one of the desktop.
    pub(crate) notifications: Option<Notifications>,
    /// Output for screen readers: lines are written once and in order.
    pub(crate) accessible: Option<bool>,
}

/// The group `terminal`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct TerminalGroup {
    /// Shows images in terminals that can.
    show_images: Option<bool>,
    /// Width of images in columns.
    #[serde(deserialize_with = "number::whole")]
    #[schemars(range(min = 1))]
    image_width_cells: Option<u64>,
    /// Without effect in this version, which clears what shrinks in any case.
    clear_on_shrink: Option<bool>,
    /// Shows in the terminal's tab or task bar that pi works.
    show_terminal_progress: Option<bool>,
    /// Takes the mouse in the full screen: wheel, selection, clicks.
    mouse: Option<bool>,
    /// The terminal has links. Default: `"auto"`. `PI_HYPERLINKS` takes precedence.
    #[schemars(with = "Option<choices::FlagOrAuto>")]
    hyperlinks: Option<Automatic<bool>>,
    /// Protocol of images: `kitty`, `iterm2`, `false`, or `"auto"` by default.
    /// `PI_IMAGE_PROTOCOL` takes precedence.
    images: Option<ImageChoice>,
    /// The terminal has 16 million colors. Default: `"auto"`. `PI_TRUE_COLOR` takes precedence.
    #[schemars(with = "Option<choices::FlagOrAuto>")]
    true_color: Option<Automatic<bool>>,
}

/// The group `markdown`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct MarkdownGroup {
    /// Indentation of code. Default: two spaces.
    code_block_indent: Option<String>,
    /// Draws Mermaid diagrams: never, when the answer is complete, or while it arrives.
    mermaid: Option<MermaidMode>,
}

/// The settings of the screen in force.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs)] // Documented at the keys.
pub struct ScreenSettings {
    pub mode: TuiMode,
    pub theme: Option<String>,
    pub quiet_startup: QuietStartup,
    pub hide_thinking: bool,
    pub cache_misses: bool,
    pub double_escape: DoubleEscape,
    pub editor_padding: usize,
    pub output_pad: usize,
    pub menu_rows: usize,
    pub hardware_cursor: bool,
    pub show_images: bool,
    pub image_width: usize,
    pub show_progress: bool,
    pub mouse: bool,
    /// What the user says about the terminal; `None` where it is detected.
    pub hyperlinks: Option<bool>,
    pub image_protocol: Option<ImageProtocol>,
    pub true_color: Option<bool>,
    pub vim: bool,
    pub notify: Notifications,
    pub accessible: bool,
    pub code_indent: String,
    pub mermaid: MermaidMode,
    pub external_editor: Option<String>,
    pub share_command: Option<String>,
    pub exit_output: ExitOutput,
    pub scrollbar: ScrollbarMode,
    pub copy_on_select: bool,
    /// Lines per step of the mouse wheel; `None` for automatic.
    pub wheel_lines: Option<usize>,
    pub tree_filter: TreeFilter,
    pub skip_branch_summary_prompt: bool,
    pub collapse_changelog: bool,
    pub last_changelog_version: Option<String>,
}

impl Settings {
    /// Returns the settings of the screen, within their limits.
    pub fn screen(&self) -> ScreenSettings {
        let keys = self.screen.clone();
        let terminal = keys.terminal.unwrap_or_default();
        let markdown = keys.markdown.unwrap_or_default();
        let text = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        ScreenSettings {
            mode: keys.tui_mode.unwrap_or_default(),
            theme: text(keys.theme),
            quiet_startup: keys.quiet_startup.map(QuietChoice::value).unwrap_or_default(),
            hide_thinking: keys.hide_thinking_block.unwrap_or(false),
            cache_misses: keys.show_cache_miss_notices.unwrap_or(false),
            double_escape: keys.double_escape_action.unwrap_or_default(),
            editor_padding: within(keys.editor_padding_x, 0, 0, 3),
            output_pad: within(keys.output_pad, 1, 0, 1),
            menu_rows: within(keys.autocomplete_max_visible, 5, 3, 20),
            hardware_cursor: keys.show_hardware_cursor.unwrap_or(false),
            show_images: terminal.show_images.unwrap_or(true),
            image_width: within(terminal.image_width_cells, 60, 1, 400),
            show_progress: terminal.show_terminal_progress.unwrap_or(false),
            mouse: terminal.mouse.unwrap_or(true),
            hyperlinks: terminal.hyperlinks.and_then(Automatic::value),
            image_protocol: terminal.images.and_then(ImageChoice::value),
            true_color: terminal.true_color.and_then(Automatic::value),
            vim: keys.vim_mode.unwrap_or(false),
            notify: keys.notifications.unwrap_or_default(),
            accessible: keys.accessible.unwrap_or(false),
            code_indent: markdown.code_block_indent.unwrap_or_else(|| "  ".to_owned()),
            mermaid: markdown.mermaid.unwrap_or_default(),
            external_editor: text(keys.external_editor),
            share_command: text(keys.share_command),
            exit_output: keys.fullscreen_exit_output.unwrap_or_default(),
            scrollbar: keys.fullscreen_scrollbar.unwrap_or_default(),
            copy_on_select: keys.fullscreen_copy_on_select.unwrap_or(true),
            wheel_lines: keys.fullscreen_wheel_scroll_lines.and_then(WheelChoice::lines),
            tree_filter: keys.tree_filter_mode.unwrap_or_default(),
            skip_branch_summary_prompt: self
                .branch_summary
                .as_ref()
                .and_then(|group| group.skip_prompt)
                .unwrap_or(false),
            collapse_changelog: keys.collapse_changelog.unwrap_or(false),
            last_changelog_version: text(keys.last_changelog_version),
        }
    }

    /// Returns the theme files and directories.
    pub fn themes(&self) -> &[String] {
        self.screen.themes.as_deref().unwrap_or_default()
    }
}

/// Returns the defaults, as they would be in a file.
pub(super) fn defaults() -> Value {
    let screen = Settings::default().screen();
    json!({
        "hideThinkingBlock": screen.hide_thinking,
        "showCacheMissNotices": screen.cache_misses,
        "doubleEscapeAction": screen.double_escape,
        "treeFilterMode": screen.tree_filter,
        "theme": "system",
        "quietStartup": false,
        "tuiMode": screen.mode,
        "fullscreenExitOutput": screen.exit_output,
        "fullscreenScrollbar": screen.scrollbar,
        "fullscreenCopyOnSelect": screen.copy_on_select,
        "fullscreenWheelScrollLines": "auto",
        "editorPaddingX": screen.editor_padding,
        "outputPad": screen.output_pad,
        "autocompleteMaxVisible": screen.menu_rows,
        "showHardwareCursor": screen.hardware_cursor,
        "terminal": {
            "showImages": screen.show_images,
            "imageWidthCells": screen.image_width,
            "showTerminalProgress": screen.show_progress,
            "mouse": screen.mouse,
            "hyperlinks": "auto",
            "images": "auto",
            "trueColor": "auto",
        },
        "markdown": { "codeBlockIndent": screen.code_indent, "mermaid": screen.mermaid },
        "collapseChangelog": screen.collapse_changelog,
        "vimMode": screen.vim,
        "notifications": screen.notify,
        "accessible": screen.accessible,
    })
}

/// Returns the number within its limits.
fn within(number: Option<u64>, default: usize, least: usize, most: usize) -> usize {
    number.map_or(default, |number| usize::try_from(number).unwrap_or(most).clamp(least, most))
}
