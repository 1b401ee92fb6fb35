//! The settings that the screen uses: those of the files, changed by the command line and the
//! environment.

use pi_coding_agent::Environment;
use pi_config::Settings;

pub(super) use pi_config::settings::{
    DoubleEscape, ImageProtocol, QuietStartup, ScreenSettings as Preferences, ScrollbarMode,
    TuiMode,
};

use crate::program::ScreenOptions;

/// Returns the settings of the screen in force.
pub(super) fn read(
    settings: &Settings,
    options: &ScreenOptions,
    environment: &Environment,
) -> Preferences {
    let mut preferences = settings.screen.clone();
    match options.mode.as_deref() {
        Some("regular") => preferences.mode = TuiMode::Regular,
        Some("fullscreen") => preferences.mode = TuiMode::Fullscreen,
        _ => {}
    }
    if let Some(theme) = &options.theme {
        preferences.theme.clone_from(theme);
    }
    if let Some(shown) = flag(environment.variable("PI_HARDWARE_CURSOR")) {
        preferences.hardware_cursor = shown;
    }
    preferences
}

fn flag(value: Option<&str>) -> Option<bool> {
    match value? {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}

/// Returns the value of a variable that says what the terminal can do: that of the environment, or
/// else what the settings say.
pub(super) fn variable(
    name: &str,
    environment: &Environment,
    preferences: &Preferences,
) -> Option<String> {
    let set = environment.variable(name).map(str::to_owned);
    let word = |flag: bool| if flag { "1" } else { "0" };
    let terminal = &preferences.terminal;
    set.or_else(|| {
        let value = match name {
            "PI_HYPERLINKS" => terminal.hyperlinks.flag().map(word),
            "PI_TRUE_COLOR" => terminal.true_color.flag().map(word),
            "PI_IMAGE_PROTOCOL" => terminal.images.protocol().map(ImageProtocol::as_str),
            _ => None,
        };
        value.map(str::to_owned)
    })
}
