//! The terminal toolkit of pi, and the components of the coding agent.

use super::{HostModule, host_modules};

pub(super) const MODULES: &[HostModule] = host_modules! {
    "@earendil-works/pi-tui" = "tui/index.js",
    "pi:tui/text" = "tui/text.js",
    "pi:tui/keys" = "tui/keys.js",
    "pi:tui/keybindings" = "tui/keybindings.js",
    "pi:tui/containers" = "tui/containers.js",
    "pi:tui/texts" = "tui/texts.js",
    "pi:tui/stacks" = "tui/stacks.js",
    "pi:tui/scroll-view" = "tui/scroll-view.js",
    "pi:tui/select-list" = "tui/select-list.js",
    "pi:tui/settings-list" = "tui/settings-list.js",
    "pi:tui/loader" = "tui/loader.js",
    "pi:tui/input" = "tui/input.js",
    "pi:tui/editor" = "tui/editor.js",
    "pi:tui/completion" = "tui/completion.js",
    "pi:tui/autocomplete" = "tui/autocomplete.js",
    "pi:tui/markdown" = "tui/markdown.js",
    "pi:tui/markdown-inline" = "tui/markdown-inline.js",
    "pi:tui/markdown-table" = "tui/markdown-table.js",
    "pi:tui/image" = "tui/image.js",
    "pi:tui/colors" = "tui/colors.js",
    "pi:tui/terminal" = "tui/terminal.js",
    "pi:tui/tui" = "tui/tui.js",
};
