//! The settings that the screen uses, read once and again by `/reload`.

use pi_coding_agent::config::SettingsStore;
use serde_json::Value;

/// The mode of the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TuiMode {
    /// On the main screen, with the terminal's own scrollback.
    Regular,
    /// On the alternate screen, with its own scrolling.
    #[default]
    Fullscreen,
}

/// The action of pressing escape twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum DoubleEscape {
    #[default]
    Tree,
    Fork,
    None,
}

/// What is shown at the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum QuietStartup {
    /// The header and the loaded resources.
    #[default]
    No,
    /// The header only.
    Header,
    Yes,
}

/// The settings of the screen.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Preferences {
    pub(super) mode: TuiMode,
    pub(super) theme: Option<String>,
    pub(super) quiet_startup: QuietStartup,
    pub(super) hide_thinking: bool,
    pub(super) double_escape: DoubleEscape,
    pub(super) editor_padding: usize,
    pub(super) output_pad: usize,
    pub(super) menu_rows: usize,
    pub(super) hardware_cursor: bool,
    pub(super) show_images: bool,
    pub(super) image_width: usize,
    pub(super) show_progress: bool,
    pub(super) mouse: bool,
    pub(super) vim: bool,
    pub(super) notify: String,
    pub(super) code_indent: String,
    pub(super) mermaid: String,
    pub(super) external_editor: Option<String>,
    pub(super) exit_output: String,
    pub(super) scrollbar: String,
    pub(super) copy_on_select: bool,
    pub(super) wheel_lines: Option<usize>,
    pub(super) tree_filter: String,
    pub(super) skip_branch_summary_prompt: bool,
    pub(super) collapse_changelog: bool,
    pub(super) last_changelog_version: Option<String>,
}

impl Preferences {
    /// Reads the settings. A value of the wrong kind counts as absent; the store reports it.
    pub(super) fn read(store: &SettingsStore) -> Self {
        let value = |path: &str| -> Option<Value> {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            store.value(&path).map(|(value, _)| value)
        };
        let text = |path: &str| value(path).and_then(|value| value.as_str().map(str::to_owned));
        let flag = |path: &str, default: bool| {
            value(path).and_then(|value| value.as_bool()).unwrap_or(default)
        };
        let number = |path: &str, default: usize, least: usize, most: usize| {
            let number = value(path).and_then(|value| value.as_u64());
            number.map_or(default, |number| {
                usize::try_from(number).unwrap_or(most).clamp(least, most)
            })
        };
        Self {
            mode: match text("tuiMode").as_deref() {
                Some("regular") => TuiMode::Regular,
                _ => TuiMode::Fullscreen,
            },
            theme: text("theme"),
            quiet_startup: match value("quietStartup") {
                Some(Value::Bool(true)) => QuietStartup::Yes,
                Some(Value::String(text)) if text == "header" => QuietStartup::Header,
                _ => QuietStartup::No,
            },
            hide_thinking: flag("hideThinkingBlock", false),
            double_escape: match text("doubleEscapeAction").as_deref() {
                Some("fork") => DoubleEscape::Fork,
                Some("none") => DoubleEscape::None,
                _ => DoubleEscape::Tree,
            },
            editor_padding: number("editorPaddingX", 0, 0, 3),
            output_pad: number("outputPad", 1, 0, 1),
            menu_rows: number("autocompleteMaxVisible", 5, 3, 20),
            hardware_cursor: flag("showHardwareCursor", false),
            show_images: flag("terminal.showImages", true),
            image_width: number("terminal.imageWidthCells", 60, 1, 400),
            show_progress: flag("terminal.showTerminalProgress", false),
            mouse: flag("terminal.mouse", true),
            vim: flag("vimMode", false),
            notify: text("notifications").unwrap_or_else(|| "off".to_owned()),
            code_indent: text("markdown.codeBlockIndent").unwrap_or_else(|| "  ".to_owned()),
            mermaid: text("markdown.mermaid").unwrap_or_else(|| "final".to_owned()),
            external_editor: text("externalEditor"),
            exit_output: text("fullscreenExitOutput").unwrap_or_else(|| "transcript".to_owned()),
            scrollbar: text("fullscreenScrollbar").unwrap_or_else(|| "auto".to_owned()),
            copy_on_select: flag("fullscreenCopyOnSelect", true),
            wheel_lines: value("fullscreenWheelScrollLines")
                .and_then(|value| value.as_u64())
                .and_then(|lines| usize::try_from(lines).ok()),
            tree_filter: text("treeFilterMode").unwrap_or_else(|| "default".to_owned()),
            skip_branch_summary_prompt: flag("branchSummary.skipPrompt", false),
            collapse_changelog: flag("collapseChangelog", false),
            last_changelog_version: text("lastChangelogVersion"),
        }
    }

    /// Applies the options of the command line.
    pub(super) fn with(mut self, screen: &crate::arguments::Screen) -> Self {
        match screen.mode.as_deref() {
            Some("regular") => self.mode = TuiMode::Regular,
            Some("fullscreen") => self.mode = TuiMode::Fullscreen,
            _ => {}
        }
        if let Some(theme) = &screen.theme {
            self.theme = Some(theme.clone());
        }
        self
    }
}
