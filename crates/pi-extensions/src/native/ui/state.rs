//! The state of the user interface that extensions read: editor, themes, footer.

use pi_coding_agent::extension::Theme;
use pi_tui::ColorDepth;
use pi_tui::theme::TerminalColors;
use serde_json::{Value, json};

use super::ui_of;
use crate::host::{ExtensionId, Host, Natives};

/// `state(id, name, argument)`: a value of the interface, by name.
pub(super) const FUNCTIONS: Natives = &[("state", |call| {
    let (name, argument) = (call.text(1)?, call.optional_text(2)?);
    call.reply(read(call.host, call.id(0)?, &name, argument.as_deref()))
})];

/// Reads a value. Without an interface the values are those of a program without one.
fn read(host: &Host, id: ExtensionId, name: &str, argument: Option<&str>) -> Value {
    let ui = ui_of(host, id);
    let ui = ui.as_ref().map(|ui| ui.interface());
    match name {
        "isPresent" => ui.is_some_and(|ui| ui.is_present()).into(),
        "hasScreen" => ui.is_some_and(|ui| ui.terminal_size().is_some()).into(),
        "editorText" => ui.map(|ui| ui.editor_text()).unwrap_or_default().into(),
        "toolsExpanded" => ui.is_some_and(|ui| ui.tools_expanded()).into(),
        "theme" => theme(ui.map(|ui| ui.theme()).unwrap_or_default()),
        "themeGeneration" => ui.map_or(0, |ui| ui.theme_generation()).into(),
        "themes" => {
            let names = ui.map(|ui| ui.themes()).unwrap_or_default().into_iter();
            let path = |name: &str| ui.and_then(|ui| ui.find_theme(name)?.path);
            names.map(|name| json!({ "path": path(&name), "name": name })).collect()
        }
        "findTheme" => {
            let found = argument.and_then(|name| ui?.find_theme(name));
            found.map(theme).unwrap_or_default()
        }
        "builtinTheme" => match argument {
            Some("dark") => builtin(&pi_tui::theme::Theme::dark()),
            Some("light") => builtin(&pi_tui::theme::Theme::light()),
            _ => Value::Null,
        },
        "setTheme" => {
            let result = ui.map(|ui| ui.set_theme(argument.unwrap_or_default()));
            match result {
                Some(Ok(())) => json!({ "success": true }),
                Some(Err(error)) => json!({ "success": false, "error": error.to_string() }),
                None => json!({ "success": false, "error": "UI not available" }),
            }
        }
        "size" => {
            let size = ui.and_then(|ui| ui.terminal_size());
            size.map(|(columns, rows)| json!([columns, rows])).unwrap_or_default()
        }
        "footer" => {
            let data = ui.map(|ui| ui.footer_data()).unwrap_or_default();
            json!({
                "branch": data.branch,
                "statuses": data.statuses,
                "providers": data.available_providers,
            })
        }
        "keybindings" => {
            let keys = ui.map(|ui| ui.keybindings()).unwrap_or_default();
            serde_json::to_value(keys).unwrap_or_default()
        }
        _ => Value::Null,
    }
}

/// Returns the data of a theme of the program, in as many colors as all terminals have.
fn builtin(theme: &pi_tui::theme::Theme) -> Value {
    let depth = ColorDepth::Ansi256;
    json!({
        "name": theme.name(),
        "isLight": theme.appearance() == pi_tui::theme::Appearance::Light,
        "fg": theme.foreground_sequences(depth),
        "bg": theme.background_sequences(depth),
    })
}

/// Returns the data of a theme. A program without a screen has no colors; then those are used that
/// the screen has before the terminal reports its own, and no attributes.
fn theme(mut theme: Theme) -> Value {
    let is_plain = theme.foreground.is_empty();
    if is_plain {
        let depth = ColorDepth::Ansi256;
        let system = pi_tui::theme::Theme::system(&TerminalColors::default(), depth);
        theme.foreground = system.foreground_sequences(depth);
        theme.background = system.background_sequences(depth);
    }
    json!({
        "isPlain": is_plain,
        "name": theme.name,
        "path": theme.path,
        "isLight": theme.is_light,
        "fg": theme.foreground,
        "bg": theme.background,
    })
}
