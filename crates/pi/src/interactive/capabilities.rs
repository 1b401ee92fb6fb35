//! What the terminal can do, from the environment.

use std::collections::BTreeMap;

use pi_tui::ColorDepth;

/// What the terminal can do.
#[derive(Debug, Clone)]
pub(super) struct Capabilities {
    pub(super) colors: ColorDepth,
    pub(super) hyperlinks: bool,
    pub(super) is_multiplexer: bool,
    pub(super) is_remote: bool,
    pub(super) reflows: bool,
}

impl Capabilities {
    pub(super) fn from_variables(variables: &BTreeMap<String, String>) -> Self {
        let get = |name: &str| variables.get(name).filter(|value| !value.is_empty());
        let colors = match (get("NO_COLOR"), get("COLORTERM").map(String::as_str)) {
            (Some(_), _) => ColorDepth::None,
            (_, Some("truecolor" | "24bit")) => ColorDepth::True,
            _ => ColorDepth::Ansi256,
        };
        Self {
            colors,
            hyperlinks: false,
            is_multiplexer: get("TMUX").is_some() || get("STY").is_some(),
            is_remote: get("SSH_CONNECTION").is_some() || get("SSH_TTY").is_some(),
            reflows: true,
        }
    }
}
